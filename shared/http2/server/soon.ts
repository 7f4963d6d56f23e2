/**
 * Resolves at the end of the current turn. Node's own ways record the asynchronous context, which takes longer than the
 * rest.
 */
export const soon: Promise<void> = Promise.resolve()
