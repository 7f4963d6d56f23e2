import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { MemoryFolders } from '../container-runtime.ts'
import { aloneLaunch } from './launch/launch.ts'
import { mountPoints } from './view/mount-points.ts'
import { type Step, tmpfs } from './view/steps.ts'

/**
 * Each is a tmpfs, mounted on the host as by upstream's kubelet. The shim unmounts what is left when it ends or starts:
 * no container outlives it.
 */
export class MountedMemory implements MemoryFolders {
  readonly #shimIsReady: () => Promise<void>

  constructor({ shimIsReady }: { shimIsReady(): Promise<void> }) {
    this.#shimIsReady = shimIsReady
  }

  async mount(folder: string, bytes: number): Promise<boolean> {
    await this.#shimIsReady()
    mkdirSync(folder, { recursive: true })
    const place = realpathSync(folder)
    if (mounted().includes(place)) return false
    await take([tmpfs(place, `mode=0777,size=${bytes}`)])
    return true
  }

  /** Emptied first: a container that was started meanwhile has a copy of the mount, which keeps its memory. */
  async unmountBelow(folder: string): Promise<void> {
    const found = mounted().filter((place) => place.startsWith(`${realOrSame(folder)}/`))
    for (const place of found) {
      for (const name of readdirSync(place)) rmSync(path.join(place, name), { recursive: true, force: true })
    }
    if (found.length > 0) await take(found.map((place): Step => ['unmount', place]))
  }
}

const mounted = (): string[] => mountPoints(readFileSync('/proc/self/mountinfo', 'utf8'))

function realOrSame(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}

async function take(steps: Step[]): Promise<void> {
  const { file, args } = aloneLaunch(steps)
  await promisify(execFile)(file, args).catch((error: { stderr?: string }) => {
    throw new Error(error.stderr?.trim() || String(error))
  })
}
