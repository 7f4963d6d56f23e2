type Handler = Record<'onAdd' | 'onUpdate' | 'onDelete', () => void>

/**
 * Returns a function that does the work if an object has changed since the last time that it succeeded, or if there is
 * another reason to.
 */
export function whenChanged(
  informers: readonly { addHandler(handler: Handler): void }[],
  work: () => Promise<void>,
  hasReason: () => boolean,
): () => Promise<void> {
  let hasChanged = true
  const note = (): void => {
    hasChanged = true
  }
  for (const informer of informers) informer.addHandler({ onAdd: note, onUpdate: note, onDelete: note })
  return async () => {
    if (!hasChanged && !hasReason()) return
    hasChanged = false
    await work().catch((error) => {
      hasChanged = true
      throw error
    })
  }
}
