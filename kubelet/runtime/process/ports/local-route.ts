import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AddressRange } from '../../../../shared/api/services/address-range.ts'
import { readIfExists } from '../../../../shared/pki/files.ts'

const run = promisify(execFile)
const MAX_MS = 5_000

/**
 * Makes this machine answer on a range of addresses, by one route: `ip route add local CIDR dev lo`. That needs root,
 * unless the route is there already. Routes of our own are noted in `folder` and removed when nothing uses them.
 */
export class LocalRoute {
  readonly #note: string

  constructor(folder: string) {
    this.#note = join(folder, 'local-route')
  }

  /** Resolves to the reason why the machine does not answer on these addresses; undefined: it does. */
  async ensure(range: AddressRange): Promise<string | undefined> {
    if (await answersOn(range)) return undefined
    const other = overlapping(range)
    if (other) return `${range.cidr} overlaps the network of ${other}`
    const problem = await ip('add', range.cidr)
    if (problem) return problem
    appendFileSync(this.#note, `${range.cidr}\n`)
    return (await answersOn(range)) ? undefined : `the route to ${range.cidr} has no effect`
  }

  async remove(): Promise<void> {
    for (const cidr of readIfExists(this.#note)?.split('\n') ?? []) if (cidr) await ip('del', cidr)
    rmSync(this.#note, { force: true })
  }
}

async function ip(verb: 'add' | 'del', cidr: string): Promise<string | undefined> {
  try {
    await run('ip', ['route', verb, 'local', cidr, 'dev', 'lo'], { timeout: MAX_MS })
    return undefined
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
    if (code === 'ENOENT') return 'the program ip (iproute2) is missing'
    return stderr?.trim() || message
  }
}

/** The last address: a bridge that has the range usually has the first. */
async function answersOn(range: AddressRange): Promise<boolean> {
  const server = createServer().listen(0, range.at(range.size - 1))
  try {
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

/** A network that a route to all of its addresses would cut this machine off from. */
function overlapping(range: AddressRange): string | undefined {
  for (const [name, addresses = []] of Object.entries(networkInterfaces()))
    for (const { family, cidr } of addresses)
      if (family === 'IPv4' && cidr && range.overlaps(new AddressRange(cidr))) return `${name} (${cidr})`
  return undefined
}
