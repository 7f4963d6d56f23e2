/** Decodes a text that is percent-encoded. A text that is not, or not validly, stays as it is. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
