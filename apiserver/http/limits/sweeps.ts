/** A sweep looks for what takes too long this many times per timeout: a time limit is kept to within a sixtieth. */
export const sweepsPerTimeout = 60
