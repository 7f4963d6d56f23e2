import { closeSync, openSync, readlinkSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { namesIn, textOf } from '../../../../shared/files/readable.ts'
import type { PortHolder } from '../../container-runtime.ts'

/** The processes that listen on TCP ports of this machine; empty on other systems than Linux. */

export interface ListeningSocket {
  port: number
  address: string
  inode: string
}

export const everyAddress = new Set(['0.0.0.0', '::'])
const listening = '0A'
const socketTables = ['/proc/net/tcp', '/proc/net/tcp6']

/**
 * Each listener, or each on one of these ports; the process only where we may see it. Walks through /proc if there is
 * any.
 */
export function listenersOn(ports?: ReadonlySet<number>): PortHolder[] {
  const sockets = listeningOn(ports)
  if (sockets.length === 0) return []
  const owners = ownersOf(new Set(sockets.map(({ inode }) => inode)))
  return sockets.map(({ port, address, inode }) => {
    const pid = owners.get(inode)
    return { port, address, ...(pid !== undefined && { pid, program: programOf(pid) }) }
  })
}

/** The sockets that listen, or those on one of these ports. */
const listeningOn = (ports?: ReadonlySet<number>): ListeningSocket[] =>
  socketTables.flatMap((file) => parseSockets(textOf(file, 'latin1'))).filter(({ port }) => ports?.has(port) ?? true)

/**
 * The sockets that answer at the address and port, read as far as the caller asks. Linux lists what listens first; a
 * read asks for one line, because Linux walks through all sockets of the machine to fill a larger one (4 ms).
 */
export function* answeringAt(ip: string, port: number): Generator<ListeningSocket> {
  for (const file of socketTables) {
    for (const line of headOf(file)) {
      const [socket] = parseSockets(line)
      if (socket?.port === port && (socket.address === ip || everyAddress.has(socket.address))) yield socket
    }
  }
}

/** The lines of a table until the first socket that does not listen. */
function* headOf(file: string): Generator<string> {
  const buffer = Buffer.alloc(LINE_BYTES)
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    let text = ''
    for (let length = LINE_BYTES; length > 0; ) {
      length = readSync(descriptor, buffer, 0, LINE_BYTES, null)
      const lines = (text + buffer.toString('latin1', 0, length)).split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) {
        if (/^ *\d+: \S+ \S+ (?!0A)/.test(line)) return
        yield line
      }
    }
  } catch {
    // not Linux
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
const LINE_BYTES = 160

/** Returns the listening sockets of a table such as /proc/net/tcp. */
export function parseSockets(table: string): ListeningSocket[] {
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    const [address = '', port = ''] = local.split(':')
    return state === listening ? [{ port: Number.parseInt(port, 16), address: addressOf(address), inode }] : []
  })
}

/**
 * Four bytes in the machine's order (little-endian, on all that Node runs on but s390x), as `127.0.0.1`; IPv6 as `::`
 * or its digits.
 */
function addressOf(hex: string): string {
  if (/^0{32}$/.test(hex)) return '::'
  if (/^0{16}FFFF0000/.test(hex)) return addressOf(hex.slice(24))
  if (hex.length > 8) return hex
  return (hex.match(/../g) ?? [])
    .reverse()
    .map((byte) => Number.parseInt(byte, 16))
    .join('.')
}

/** The first process found that has the socket, by inode. */
export function ownersOf(inodes: ReadonlySet<string>): Map<string, number> {
  const owners = new Map<string, number>()
  for (const pid of namesIn('/proc').map(Number).filter(Number.isInteger)) {
    for (const inode of socketsOf(pid)) if (inodes.has(inode) && !owners.has(inode)) owners.set(inode, pid)
    if (owners.size === inodes.size) break
  }
  return owners
}

/** Returns true if the process holds one of the sockets. */
export const holdsAny = (pid: number, inodes: ReadonlySet<string>): boolean =>
  socketsOf(pid).some((inode) => inodes.has(inode))

const socketsOf = (pid: number): string[] =>
  namesIn(`/proc/${pid}/fd`).flatMap(
    (descriptor) => /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${descriptor}`))?.[1] ?? [],
  )

/** The process, and what it has started, as far as the kernel keeps lists of children. */
export function familyOf(pid: number): number[] {
  const found: number[] = []
  for (let next = [pid]; next.length > 0 && found.length < MAX_FAMILY; next = next.flatMap(childrenOf)) {
    found.push(...next)
  }
  return found
}
const MAX_FAMILY = 1_000
const childrenOf = (pid: number): number[] =>
  namesIn(`/proc/${pid}/task`).flatMap((thread) =>
    (textOf(`/proc/${pid}/task/${thread}/children`).match(/\d+/g) ?? []).map(Number),
  )

/** `node server.js`: the program, and the script if it is the next word. No further arguments: those may be secrets. */
export function programOf(pid: number): string {
  const [program = '', script = ''] = textOf(`/proc/${pid}/cmdline`, 'latin1').split('\0')
  const words = script.startsWith('-') ? [program] : [program, script]
  return words
    .filter(Boolean)
    .map((word) => basename(word))
    .join(' ')
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}
