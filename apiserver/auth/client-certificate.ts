import type { Socket } from 'node:net'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import type { User } from '../kind/user.ts'
import { unauthorized } from './chain.ts'
import type { Authenticator } from './types.ts'

/**
 * CN is the user (of several the last, as in Go), each O a group. The server must request certificates (`requestCert`)
 * and accept connections without one: unauthenticated clients get 401 instead of a TLS error.
 */
export function clientCertificate(): Authenticator {
  const known = new WeakMap<Socket, User | 'none' | 'bad'>()
  const userOf = readerOfUsers()
  return {
    authenticate({ socket }) {
      let result = known.get(socket)
      if (result === undefined) {
        result = userOf(socket as TLSSocket)
        known.set(socket, result)
      }
      if (result === 'bad') throw unauthorized()
      return result === 'none' ? undefined : result
    },
  }
}

/**
 * Returns the user name (the common name) of a connection's client certificate; undefined if the certificate is missing
 * or not valid.
 */
export function certificateName(socket: TLSSocket): string | undefined {
  const certificate = socket.authorized ? socket.getPeerCertificate() : undefined
  return certificate?.subject && nameIn(certificate)
}

const nameIn = ({ subject }: PeerCertificate): string | undefined =>
  [(subject as { CN?: string | string[] }).CN].flat().at(-1)

/** Users are kept of so many certificates. */
const maxKept = 1_000

/**
 * Returns a function that reads the user of a connection. It keeps what it has read of a valid certificate, by the
 * certificate's SHA-256: a client such as kubectl opens a connection for each command.
 */
function readerOfUsers(): (socket: TLSSocket) => User | 'none' | 'bad' {
  const users = new Map<string, User | 'none' | 'bad'>()
  return (socket) => {
    const certificate = socket.getPeerX509Certificate?.()
    if (!certificate) return 'none'
    if (!socket.authorized) return 'bad'
    const { fingerprint256 } = certificate
    const kept = users.get(fingerprint256)
    if (kept !== undefined) return kept
    const user = userOf(certificate.toLegacyObject())
    if (users.size >= maxKept) users.clear()
    users.set(fingerprint256, user)
    return user
  }
}

function userOf(certificate: PeerCertificate): User | 'none' | 'bad' {
  if (!certificate.subject) return 'none'
  const name = nameIn(certificate)
  if (!name) return 'bad'
  const { O } = certificate.subject as { O?: string | string[] }
  return {
    name,
    groups: [...[O ?? []].flat(), 'system:authenticated'],
    extra: {
      'authentication.kubernetes.io/credential-id': [
        `X509SHA256=${certificate.fingerprint256.replaceAll(':', '').toLowerCase()}`,
      ],
    },
  }
}
