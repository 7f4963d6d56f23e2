/**
 * Returns the text cut to `max` characters, followed by the number of characters that were cut off. A shorter text is
 * returned unchanged.
 */
export function cutTo(text: string, max: number): string {
  if (text.length <= max) return text
  const end = /[\ud800-\udbff]/.test(text[max - 1]!) ? max - 1 : max
  return `${text.slice(0, end)}… (${text.length - end} more characters)`
}

/** The JSON of a cause has this much besides its texts. */
const causeOverhead = 64

/** Returns the approximate number of bytes that a cause takes in an answer. */
export const causeBytes = (field: string, message: string): number => causeOverhead + field.length + message.length
