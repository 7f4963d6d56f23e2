import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'

/** A network of its own, in which the programs of others hold ports. */
export interface BusyNetwork {
  /** What stands before a command line for it to run there. */
  readonly enter: readonly string[]
}

/** Programs that hold a port, as a command line says it. */
const holder = `
const { createServer } = require('node:http')
Promise.all(process.argv.slice(1).map((port) => new Promise((resolve, reject) => {
  createServer((_, response) => response.end('a dev server')).on('error', reject).listen(Number(port), resolve)
}))).then(() => console.log('held'))
setInterval(() => {}, 1 << 30)`

/** SIOCSIFFLAGS: a new network's loopback interface is down. Perl is there wherever pods run. */
const loopbackUp = `
use Socket;
socket(my $socket, AF_INET, SOCK_DGRAM, 0) or die "socket: $!";
ioctl($socket, 0x8914, my $request = pack('a16 s x22', 'lo', 0x49)) or die "ioctl: $!";
exec @ARGV;`

/**
 * Something listens on each of these ports at all addresses (`*:8080`), without being in the way of anything else on this machine.
 * Resolves to undefined where the machine does not allow it.
 */
export async function busyNetwork(t: Test, ports: readonly number[]): Promise<BusyNetwork | undefined> {
  const isRoot = process.getuid?.() === 0
  const unshare = isRoot ? ['--net'] : ['--user', '--map-root-user', '--net']
  const command = [...unshare, '--', 'perl', '-e', loopbackUp, process.execPath, '-e', holder, ...ports.map(String)]
  const child = spawn('unshare', command, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const isHeld = await Promise.race([
    once(child.stdout, 'data').then(() => true),
    once(child, 'exit').then(() => false),
    once(child, 'error').then(() => false),
  ])
  if (!isHeld) return undefined
  const namespaces = isRoot ? [] : [`--user=/proc/${child.pid}/ns/user`, '--preserve-credentials']
  return { enter: ['nsenter', `--net=/proc/${child.pid}/ns/net`, ...namespaces, '--'] }
}
