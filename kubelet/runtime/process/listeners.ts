import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import type { PortHolder } from '../container-runtime.ts'

/** The processes that listen on TCP ports of this machine; empty on other systems than Linux. */

interface ListeningSocket {
  port: number
  address: string
  inode: string
}

const listening = '0A'
const socketTables = ['/proc/net/tcp', '/proc/net/tcp6']

/** Each listener, or each on one of these ports; the process only where we may see it. Walks through /proc if there is any. */
export function listenersOn(ports?: ReadonlySet<number>): PortHolder[] {
  const sockets = socketTables
    .flatMap((file) => parseSockets(read(file)))
    .filter(({ port }) => ports?.has(port) ?? true)
  if (sockets.length === 0) return []
  const owners = ownersOf(new Set(sockets.map(({ inode }) => inode)))
  return sockets.map(({ port, address, inode }) => {
    const pid = owners.get(inode)
    return { port, address, ...(pid !== undefined && { pid, program: programOf(pid) }) }
  })
}

/** The listening ones of a table such as /proc/net/tcp. */
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
  if (hex.length > 8) return hex
  return (hex.match(/../g) ?? [])
    .reverse()
    .map((byte) => Number.parseInt(byte, 16))
    .join('.')
}

function ownersOf(inodes: ReadonlySet<string>): Map<string, number> {
  const owners = new Map<string, number>()
  for (const pid of entries('/proc').map(Number).filter(Number.isInteger)) {
    for (const descriptor of entries(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${descriptor}`))?.[1]
      if (inode !== undefined && inodes.has(inode) && !owners.has(inode)) owners.set(inode, pid)
    }
    if (owners.size === inodes.size) break
  }
  return owners
}

/** `node server.js`: the program, and the script if it is the next word. No further arguments: those may be secrets. */
function programOf(pid: number): string {
  const [program = '', script = ''] = read(`/proc/${pid}/cmdline`).split('\0')
  const words = script.startsWith('-') ? [program] : [program, script]
  return words
    .filter(Boolean)
    .map((word) => basename(word))
    .join(' ')
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return '' // gone meanwhile, or not Linux
  }
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // gone meanwhile, or not ours to read
  }
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}
