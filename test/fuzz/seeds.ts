/** Seeds that found something, by fuzzer: each was fixed, and is tried again. */
export const seeds: Record<string, readonly number[]> = {
  'HTTP/1.1 bytes': [9868, 51048, 89496],
  'lines of the shim': [5918, 5925, 5929],
  // It took all memory.
  'answers to our client': [86516121],
}
