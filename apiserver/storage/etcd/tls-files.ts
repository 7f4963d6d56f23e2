import { createSecureContext } from 'node:tls'
import { readInputText } from '../../../shared/config/input.ts'
import { ConfigError } from '../../../shared/config/option.ts'
import type { GrpcChannelOptions } from '../../../shared/grpc/channel.ts'
import type { EtcdFiles } from '../engine.ts'

/** Throws a ConfigError that names the flag of a file that is missing or holds something else. */
export function readTls({ etcdCafile, etcdCertfile, etcdKeyfile }: EtcdFiles): GrpcChannelOptions['tls'] {
  if (Boolean(etcdCertfile) !== Boolean(etcdKeyfile))
    throw new ConfigError('--etcd-certfile and --etcd-keyfile belong together: pass both, or neither')
  const ca = read('--etcd-cafile', etcdCafile)
  const cert = read('--etcd-certfile', etcdCertfile)
  const key = read('--etcd-keyfile', etcdKeyfile)
  check('--etcd-cafile', { ca })
  check('--etcd-certfile', { cert })
  check('--etcd-keyfile', { cert, key })
  return { ca, cert, key }
}

function read(flag: string, file = ''): string | undefined {
  if (!file) return undefined
  try {
    return readInputText(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? `there is no file ${file}` : message
    throw new ConfigError(`${flag}: ${why}; pass a PEM file that this user may read`)
  }
}

function check(flag: string, parts: { ca?: string; cert?: string; key?: string }): void {
  try {
    createSecureContext(parts)
  } catch (error) {
    throw new ConfigError(`${flag}: the file cannot be used (${(error as Error).message}); pass a PEM file`)
  }
}
