import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { unauthorized } from './chain.ts'
import type { Authenticator, User } from './types.ts'

/** CN is the user (of several the last, as for Go and for those who approve), each O a group. The server must request certificates (`requestCert`) and not reject strangers itself: they get a 401. */
export function clientCertificate(): Authenticator {
  const known = new WeakMap<Socket, User | 'none' | 'bad'>()
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

function userOf(socket: TLSSocket): User | 'none' | 'bad' {
  const certificate = socket.getPeerCertificate?.()
  if (!certificate?.subject) return 'none'
  if (!socket.authorized) return 'bad'
  const { CN, O } = certificate.subject as { CN?: string | string[]; O?: string | string[] }
  const name = [CN].flat().at(-1)
  if (!name) return 'bad'
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
