/** Returns the client's name in the log: its address and port. */
export const clientOf = ({ remoteAddress, remotePort }: { remoteAddress?: string; remotePort?: number }): string =>
  `${remoteAddress}:${remotePort}`
