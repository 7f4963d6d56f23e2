/** A word that the shell takes as it is. */
export const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`
