/** How a client is named in the log: its address and port. */
export const clientOf = ({ remoteAddress, remotePort }: { remoteAddress?: string; remotePort?: number }): string =>
  `${remoteAddress}:${remotePort}`
