/** What runs in a pod. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { type Attempt, type Attempts, actAs, kubeletOf, refused, type Setting } from './attempts.ts'
import { filesBelow } from './machine.ts'
import { core } from './stage.ts'

export function podAttempts(setting: Setting): Attempts {
  const { stage, everyObject } = setting
  const { admin, stateDir } = stage
  const serverPid = stage.process.child.pid ?? 0
  /** In a shell of a pod: each prints `got out` if it succeeds. */
  const inPod =
    (scripts: Record<string, string>): Attempt =>
    async (t) => {
      if (stage.files !== 'own') return skipOrFail(t, 'this machine lets us mount nothing')
      for (const [title, script] of Object.entries(scripts)) t.equal(await stage.inPod('web', script), '', title)
    }

  return {
    'read, create, change or delete any object, or a subresource of one': refused(everyObject),
    'act as another user': actAs(setting),
    'use its token when it is gone': async (t) => {
      await stage.startPod('brief')
      const token = (await stage.inPod('brief', 'cat /var/run/secrets/kubernetes.io/serviceaccount/token')).trim()
      const client = stage.apiServer({ token })
      t.equal(await client.status({ path: '/api' }), 200, 'while it runs')
      await admin.ask({ method: 'DELETE', path: `${core}/pods/brief?gracePeriodSeconds=0` })
      t.equal(await client.status({ path: '/api' }), 401)
      t.equal(await stage.kubelet({ token }).status({ path: '/pods' }), 401, 'at the kubelet')
    },
    'get anything but a refusal from a kubelet': kubeletOf(setting, 'pod'),
    'read the keys and the files of the cluster': (t, client) =>
      inPod({
        'the state folder': filesBelow(stateDir)
          .map((file) => `cat '${file}'`)
          .join('\n'),
      })(t, client),
    "change the machine's root file system": async (t, client) => {
      const folders = ['', '/etc', '/tmp', '/usr/local/bin', '/root'].filter((folder) => existsSync(folder || '/'))
      await inPod({ 'write where it can': folders.map((folder) => `echo x >${folder}/kubestage-was-here`).join('; ') })(
        t,
        client,
      )
      for (const folder of folders) t.notOk(existsSync(`${folder}/kubestage-was-here`), `${folder}/`)
    },
    "see or signal the machine's processes": (t, client) =>
      inPod({
        'signal the server': `kill -0 ${serverPid} && echo got out`,
        'see its environment': `cat /proc/${serverPid}/environ && echo got out`,
        'see the kubelet': 'grep -l "kubelet[/]main" /proc/[0-9]*/cmdline',
        'see the machine behind process 1': `test $(stat -c %d /proc/1/root/) = ${statSync('/').dev} && echo got out`,
      })(t, client),
    "change the machine's settings, mounts or devices": inPod({
      mounts: 'umount /dev && echo got out; mount -t tmpfs none /mnt && echo got out',
      namespaces: 'unshare --mount true && echo got out; nsenter --target 1 --mount true && echo got out',
      devices: 'mknod /tmp/disk b 254 0 && echo got out',
      settings: 'echo x >/proc/sys/kernel/core_pattern && echo got out; hostname other && echo got out',
      'control groups': 'for file in $(find /sys/fs/cgroup -name cgroup.procs); do echo 1 >$file && echo got out; done',
    }),
    'leave a process behind': async (t) => {
      const seconds = `98765.${process.pid}`
      await stage.startPod('leaving', [
        'sh',
        '-c',
        `(setsid sh -c '(exec env -i sleep ${seconds}) & exit' &) ; sleep 1000`,
      ])
      const left = () =>
        readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(`sleep ${seconds}`))
      await until(() => left().length > 0, { what: 'the process that would stay' })
      await admin.ask({ method: 'DELETE', path: `${core}/pods/leaving?gracePeriodSeconds=1` })
      await until(async () => (await admin.status({ path: `${core}/pods/leaving` })) === 404, {
        what: 'the end of its pod',
      })
      t.same(left(), [])
    },
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
