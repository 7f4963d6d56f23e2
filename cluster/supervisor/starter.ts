/**
 * Tells the command that started a cluster in the background how the start ended. Sent once, over the channel between
 * them.
 */
export type FirstWords = { state: 'ready'; url: string } | { state: 'failed'; why: string }

/** Says it, once, and lets the channel go; does nothing if no process waits for the cluster. */
export async function tellStarter(words: FirstWords): Promise<void> {
  const send = process.send?.bind(process)
  if (!send || !process.connected) return
  await new Promise((resolve) => send(words, undefined, undefined, resolve))
  process.disconnect?.()
}
