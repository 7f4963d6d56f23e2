/** When what is going on now is over. Node's own ways to wait for that keep a record of who waits, which takes longer than the rest. */
export const soon: Promise<void> = Promise.resolve()
