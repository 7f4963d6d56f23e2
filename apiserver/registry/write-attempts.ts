import type { Storage } from '../storage/storage.ts'

/**
 * Tries of a write that may be repeated: it names no resourceVersion. Within one server writes of one object take turns
 * after the first try. Those of other servers come in between, so there it has to win against them; upstream tries
 * without end.
 */
export const writeAttempts = ({ catchUp }: Pick<Storage, 'catchUp'>): number => (catchUp ? 100 : 5)
