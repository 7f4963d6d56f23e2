/** Users at terminals: `kubectl run`, `attach`, `exec` and `debug` with `-it`, by every kubectl on this machine. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { pods } from '../../shared/client/resources.ts'
import { kubeletPid, startTestCluster } from '../harness/cluster.ts'
import { findKubectls, type Kubectl, kubectl, missingBuilt, missingKubectls } from '../harness/kubectl.ts'
import { followPod, isReady, podOf } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { onTerminal, type Terminal } from '../harness/terminal.ts'
import { until } from '../harness/until.ts'

const prompt = 'here> '
const shell = ['env', `PS1=${prompt}`, 'bash', '--norc', '-i']
const editor = existsSync('/usr/bin/vim') ? 'vim -u NONE -n' : existsSync('/usr/bin/busybox') ? 'busybox vi' : undefined
const isRoot = process.getuid?.() === 0
const esc = '\x1b'

const versions = findKubectls()
t.setTimeout(600_000)
if (!editor) skipOrFail(t, 'no vim and no busybox on this machine: no editor is tried')
for (const version of missingKubectls(versions)) skipOrFail(t, missingBuilt(version))
if (versions.length === 0) skipOrFail(t, 'no kubectl on this machine')
else {
  const cluster = await startTestCluster(t)
  const { kubeconfig } = cluster
  const environment = { ...process.env, KUBECONFIG: kubeconfig, HOME: dirname(kubeconfig) }
  const open = (t: Test, { file }: Kubectl, args: string[]): Terminal =>
    onTerminal(t, [file, ...args], { ...environment, KUBECACHEDIR: join(dirname(kubeconfig), 'cache') })
  /** Types a command, and waits for what it prints. */
  const asks = async (terminal: Terminal, line: string, answer: string | RegExp): Promise<void> => {
    terminal.type(`${line}\r`)
    await terminal.shows(answer)
    await terminal.shows(prompt)
  }

  /** A prompt that was shown before the client had attached is shown again for a new line. */
  const hasPrompt = async (terminal: Terminal): Promise<void> => {
    await terminal.shows(/try pressing enter|here> /)
    terminal.type('echo rea""dy\r')
    // What was typed before the shell reads it may stand in the same line.
    await terminal.shows('ready\r\n')
    await terminal.shows(prompt)
  }

  /** Line editing, signals, sizes and an editor. */
  const usesTerminal = async (terminal: Terminal): Promise<void> => {
    await asks(terminal, 'echo wrogn\x7f\x7fng', '\r\nwrong\r\n')
    await asks(terminal, `${esc}[A${esc}[D${esc}[D-`, '\r\nwro-ng\r\n')
    await asks(terminal, 'stty size', '\r\n24 80\r\n')
    terminal.resize(100, 40)
    terminal.type('until [ "$(stty size)" = "40 100" ]; do sleep 0.05; done; stty size\r')
    await terminal.shows('\r\n40 100\r\n')
    await terminal.shows(prompt)
    terminal.type('echo asle""ep; sleep 1000\r')
    await terminal.shows('\r\nasleep\r\n')
    terminal.type('\x03')
    await terminal.shows('^C')
    await asks(terminal, 'echo code $?', '\r\ncode 130\r\n')
    terminal.type('sleep 1001; echo never\r')
    await terminal.shows('never\r\n')
    terminal.type('\x1a')
    await terminal.shows('Stopped')
    await asks(terminal, 'kill %1; tty', /\r\n\/dev\/pts\/\d+\r\n/)
    if (editor) await usesEditor(terminal)
  }

  const usesEditor = async (terminal: Terminal): Promise<void> => {
    terminal.type(`${editor} /tmp/poem\r`)
    await terminal.shows('~')
    terminal.type(`ifirst line\rsecond lime${esc}`)
    await terminal.shows('second lime')
    terminal.type('rn:wq\r')
    await terminal.shows(prompt)
    await asks(terminal, 'cat /tmp/poem', '\r\nfirst line\r\nsecond limn\r\n')
  }

  const entered = async (terminal: Terminal): Promise<Terminal> => {
    await hasPrompt(terminal)
    return terminal
  }

  const more = ['--', ...shell]
  const image = ['--image=busybox', '--image-pull-policy=IfNotPresent']
  const lives = podOf({ name: 'lives', command: shell, spec: { restartPolicy: 'Never' } })
  Object.assign(lives.spec!.containers[0]!, { stdin: true, tty: true })
  await cluster.client.create(pods, lives, { namespace: 'default' })
  const ready = await followPod(cluster.client, { namespace: 'default', name: 'lives' })
  const node = (await ready.until(isReady, 'to be ready')).spec?.nodeName

  await t.test('each kubectl', async (t) => {
    t.jobs = 3
    for (const version of versions) {
      const name = `by-${version.version.replace('.', '-')}`
      t.test(`kubectl ${version.version}`, async (t) => {
        const runs = (...args: string[]) => kubectl(t, version, kubeconfig, args)
        const terminal = open(t, version, [
          'run',
          '-it',
          '--rm',
          name,
          '--image=busybox',
          '--restart=Never',
          '--',
          ...shell,
        ])
        await hasPrompt(terminal)
        await usesTerminal(terminal)
        terminal.type('exit 3\r')
        await terminal.shows(`pod "${name}" deleted`)
        await terminal.ended
        t.match(await runs('get', 'pod', name, '--ignore-not-found', '-o', 'name'), { stdout: '' })

        const inDebugger = await entered(
          open(t, version, ['debug', '-it', 'lives', ...image, '--target=main', ...more]),
        )
        if (isRoot) await asks(inDebugger, 'tr "\\0" " " </proc/1/cmdline; echo', /\r\n(\S+ )*bash --norc -i \r\n/)
        inDebugger.type('exit\r')
        await inDebugger.ended

        const onNode = await entered(open(t, version, ['debug', '-it', `node/${node}`, ...image, ...more]))
        await asks(onNode, `ls ${join('/host', dirname(kubeconfig))}/..`, basename(dirname(kubeconfig)))
        await asks(onNode, `kill -0 ${process.pid} && echo its proc""esses`, '\r\nits processes\r\n')
        onNode.type('exit\r')
        await onNode.ended
      })
    }
  })

  t.test('attach and exec, when the client leaves and when the kubelet ends', { timeout: 200_000 }, async (t) => {
    const version = versions.at(-1)!
    const first = await entered(open(t, version, ['attach', '-it', 'lives']))
    await asks(first, 'kept=so; echo pid $$', /\r\npid \d+\r\n/)
    const second = await entered(open(t, version, ['attach', '-it', 'lives']))
    await asks(first, 'echo to bo""th', '\r\nto both\r\n')
    await second.shows('\r\nto both\r\n')
    first.leave()
    await asks(second, 'echo still $kept', '\r\nstill so\r\n')
    const command = await entered(open(t, version, ['exec', '-it', 'lives', '--', ...shell]))
    await asks(command, 'stty size', '\r\n24 80\r\n')

    const before = kubeletPid(cluster)
    process.kill(before, 'SIGKILL')
    await Promise.all([second.ended, command.ended])
    const answers = async () => (await kubectl(t, version, kubeconfig, ['exec', 'lives', '--', 'true'])).code === 0
    await until(answers, { what: 'the next kubelet' })
    t.not(kubeletPid(cluster), before)
    const attached = await entered(open(t, version, ['attach', '-it', 'lives']))
    await asks(attached, 'echo and still $kept', '\r\nand still so\r\n')
    attached.type('\x04')
    t.equal(await attached.ended, 0)
    const log = await kubectl(t, version, kubeconfig, ['logs', 'lives', '-c', 'main'])
    t.match(log.stdout, 'still so\r\n')
  })
}
