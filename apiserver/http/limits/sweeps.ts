/** What takes too long is looked for so often per timeout: a limit of time is kept to within a sixtieth. */
export const sweepsPerTimeout = 60
