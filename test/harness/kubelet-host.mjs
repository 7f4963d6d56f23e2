// What the player of the recordings needs of the machine: a kubelet that dies and comes back when told to, while its containers live on.
// KUBESTAGE_STATE_DIR names the cluster's state folder.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const root = join(process.env.KUBESTAGE_STATE_DIR ?? '.kubestage', 'kubelet')
const config = join(root, 'config.json')

export const { nodeName, staticPodPath: manifestsDir } = JSON.parse(readFileSync(config, 'utf8'))

const pollMs = 5
let frozen

/** By its command line, which names its config file. */
function kubeletPid() {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(config)) return Number(pid)
    } catch {
      // It has ended meanwhile.
    }
  }
  return undefined
}

/** The supervisor starts the next one soon: that one is stopped before it gets anywhere. */
export function stopKubelet() {
  const old = kubeletPid()
  process.kill(old, 'SIGKILL')
  frozen = freezeNext(old)
}

async function freezeNext(old) {
  for (;;) {
    const pid = kubeletPid()
    if (pid !== undefined && pid !== old) {
      process.kill(pid, 'SIGSTOP')
      return pid
    }
    await sleep(pollMs)
  }
}

export async function startKubelet() {
  process.kill(await frozen, 'SIGCONT')
}
