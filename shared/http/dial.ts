import type { Duplex } from 'node:stream'

/** Connects to a server that has no address here. Rejects with the error of a socket. */
export type Dial = () => Promise<Duplex>
