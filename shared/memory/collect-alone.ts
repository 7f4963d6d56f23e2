import { setFlagsFromString } from 'node:v8'

/**
 * The process's own thread collects its young garbage from now on, without helpers: what is left alive each time is so
 * little that waking them, and on a busy machine waiting for them, costs more than they do.
 */
export const collectAlone = (): void => setFlagsFromString('--no-parallel-scavenge')
