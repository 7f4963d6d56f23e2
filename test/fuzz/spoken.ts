/** Mistakes of our own, whatever their text: what is thrown for bad input is made for it. */
const mishaps = [TypeError, ReferenceError, RangeError, URIError]

/** Runs it; an error that says what is wrong with the input is fine, one of JavaScript's own is passed on. */
export function assertSpoken(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (mishaps.some((kind) => error instanceof kind)) throw error
  }
}
