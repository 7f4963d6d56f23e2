/**
 * A client accepts at most this size of one answer, or of one event of a watch. It is many times what a server stores
 * as one object.
 */
export const maxAnswerBytes = 64 * 1024 * 1024
/** Limits the heads and trailers of one answer, interim answers (1xx) included. */
export const maxHeadBytes = 64 * 1024
