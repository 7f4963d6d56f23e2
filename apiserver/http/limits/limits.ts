/** What clients may hold at the server, so that none of them can exhaust it. docs/configuration.md prints the table. */
export interface Limits {
  /** Connections of all clients together. */
  connections: number
  /** Connections on which no client has shown valid credentials yet. */
  anonymousConnections: number
  /** HTTP/2 streams of one connection, before and after its client has shown valid credentials. */
  anonymousStreams: number
  streams: number
  /** How long an HTTP/2 connection without a stream is kept, as upstream's IdleTimeout. */
  idleMs: number
  /** How long a client may take for the TLS handshake, as upstream's ReadHeaderTimeout. */
  handshakeMs: number
  /** Requests of one connection that are answered at the same time, long-running ones left out. A list counts as ten. */
  requestsPerConnection: number
  /** Bytes of answers that one client, or all clients together, have not read: from here on requests wait. */
  unreadPerConnection: number
  unread: number
  /** TLS handshakes under way. */
  handshakes: number
  /** Of the body of a request, as upstream's MaxRequestBodyBytes. */
  bodyBytes: number
  /** How long an answer that its client does not read is kept. */
  unreadMs: number
}

export const defaultLimits: Limits = {
  connections: 10_000,
  anonymousConnections: 1_000,
  anonymousStreams: 100,
  streams: 10_000,
  idleMs: 90_000,
  handshakeMs: 32_000,
  requestsPerConnection: 100,
  unreadPerConnection: 16 * 1024 * 1024,
  unread: 256 * 1024 * 1024,
  handshakes: 1_000,
  bodyBytes: 3 * 1024 * 1024,
  unreadMs: 60_000,
}
