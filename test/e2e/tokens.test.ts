/** `kubestage token`: kubeadm's words, on a cluster whose time is ahead of the machine's. */
import { createHash, X509Certificate } from 'node:crypto'
import t from 'tap'
import tokens from '../../cli/token/index.ts'
import type { BootstrapTokenSecret } from '../../shared/api/bootstrap-token.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { secrets, selfSubjectReviews } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { resolveOptions } from '../../shared/config/resolve.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { scratchFolder } from '../harness/scratch.ts'

const namespace = 'kube-system'
const group = 'system:bootstrappers:kubeadm:default-node-token'

t.test('tokens are created, listed and deleted as by kubeadm', async (t) => {
  const cluster = await startTestCluster(t, '--kubelet=false')
  const { client, access, stateDir, kubeconfig } = cluster
  const here = `--state-dir=${stateDir}`
  const ask = async (...args: string[]) => {
    const command = startCommand(t, ['token', ...args])
    return { code: await command.ended, output: command.output(), stdout: command.stdout() }
  }
  const whoIs = async (token: string) => {
    const { server, ca } = access
    const newcomer = createRestClient({ server, ca, token, clock: realClock })
    try {
      return await newcomer.create<KubeObject & { status: object }>(selfSubjectReviews, { metadata: {} } as never)
    } finally {
      await newcomer.close()
    }
  }
  // By the machine's clock, the tokens below would be expired when they are made.
  t.match(await startCommand(t, ['clock', 'advance', '26h', here]).ended, 0)

  const created = await ask('create', here)
  t.match(created, { code: 0, output: /^[a-z0-9]{6}\.[a-z0-9]{16}\n$/ })
  const token = created.stdout.trim()
  t.match(await whoIs(token), {
    status: { userInfo: { groups: ['system:bootstrappers', group, 'system:authenticated'] } },
  })
  t.match(await ask('create', token, here), {
    code: 1,
    output: `kubestage: a token with id "${token.slice(0, 6)}" already exists; kubestage token delete ${token.slice(0, 6)} removes it\n`,
  })

  const own = 'abcdef.0123456789abcdef'
  const wishes = [
    '--ttl=0',
    '--description=for the lab',
    '--usages=authentication',
    '--groups=system:bootstrappers:lab',
  ]
  t.match(await ask('create', own, ...wishes, `--kubeconfig=${kubeconfig}`), { code: 0, output: `${own}\n` })
  t.match(await whoIs(own), { status: { userInfo: { username: 'system:bootstrap:abcdef' } } })
  const kept = await client.get<BootstrapTokenSecret>(secrets, { namespace, name: 'bootstrap-token-abcdef' })
  const data = Object.fromEntries(
    Object.entries(kept.data ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]),
  )
  t.same(data, {
    'token-id': 'abcdef',
    'token-secret': '0123456789abcdef',
    description: 'for the lab',
    'usage-bootstrap-authentication': 'true',
    'auth-extra-groups': 'system:bootstrappers:lab',
  })
  t.match(await ask('create', 'signin.0123456789abcdef', '--usages=signing', '--ttl=90m', here), { code: 0 })

  const { output } = await ask('list', here)
  const rows = output
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
  t.same(rows[0], ['TOKEN', 'TTL', 'EXPIRES', 'USAGES', 'DESCRIPTION', 'EXTRA GROUPS'])
  t.same(
    rows.find(([first]) => first === own),
    [own, '<forever>', '<never>', 'authentication', 'for the lab', 'system:bootstrappers:lab'],
  )
  t.match(
    rows.find(([first]) => first === token),
    [token, /^(1d|23h)$/, /^\d{4}-.*Z$/, 'authentication,signing', '<none>', group],
  )
  t.match(
    rows.find(([first]) => first?.startsWith('signin')),
    [/^signin/, '1h', /Z$/, 'signing', '<none>', '<none>'],
  )
  t.match(
    JSON.parse((await ask('list', '-o', 'json', here)).stdout).find((one: { token: string }) => one.token === own),
    {
      token: own,
      usages: ['authentication'],
      groups: ['system:bootstrappers:lab'],
      description: 'for the lab',
    },
  )

  const key = new X509Certificate(access.ca ?? '').publicKey.export({ type: 'spki', format: 'der' })
  const hash = createHash('sha256').update(key).digest('hex')
  const { host } = new URL(access.server)
  const printed = await ask('create', '--print-join-command', here)
  t.match(printed, {
    code: 0,
    stdout: new RegExp(
      `^kubestage join ${host} --token [a-z0-9]{6}\\.[a-z0-9]{16} --discovery-token-ca-cert-hash sha256:${hash}\\n$`,
    ),
    output: `${host}: this address works on this machine only; for other machines start the cluster with --host and --tls-san`,
  })
  const elsewhere = await ask('create', '--print-join-command', '--server=a.example:6443,b.example:6443', here)
  t.match(elsewhere, { code: 0, output: /^kubestage join a\.example:6443 b\.example:6443 --token [^\n]*\n$/ })

  t.match(await ask('delete', 'abcdef', token, here), {
    code: 0,
    output: `bootstrap token "abcdef" deleted\nbootstrap token "${token.slice(0, 6)}" deleted\n`,
  })
  await t.rejects(whoIs(token), { code: 401 })
  t.match(await ask('delete', 'abcdef', here), {
    code: 1,
    output: 'kubestage: bootstrap token "abcdef" not found; kubestage token list shows all\n',
  })
  t.match(await ask('generate'), { code: 0, output: /^[a-z0-9]{6}\.[a-z0-9]{16}\n$/ })
})

t.test('what cannot be a token is refused before anything is asked', async (t) => {
  const here = `--state-dir=${scratchFolder(t, 'tokens')}`
  const refused: Record<string, string[]> = {
    'the bootstrap token "abc" is not of the form [a-z0-9]{6}.[a-z0-9]{16}': ['create', 'abc'],
    '--usages must be of signing, authentication, not "ironing"': ['create', '--usages=ironing'],
    '--groups must be a group such as system:bootstrappers:mine, not "system:masters"': [
      'create',
      '--groups=system:masters',
    ],
    '--groups are those of a client: --usages has to include authentication': [
      'create',
      '--usages=signing',
      `--groups=${group}`,
    ],
    '--ttl must be a duration such as 500ms, 30s or 1m30s, not "soon"': ['create', '--ttl=soon'],
    '"ABCDEF" is neither a token ([a-z0-9]{6}.[a-z0-9]{16}) nor its id ([a-z0-9]{6})': ['delete', 'ABCDEF'],
    'usage: kubestage token delete (TOKEN | ID)…': ['delete'],
    'unknown argument "crate" of kubestage token; did you mean create? (kubestage token --help lists all)': ['crate'],
  }
  for (const [message, args] of Object.entries(refused)) {
    const typed = resolveOptions(tokens.options, { args: [...args, here], env: {} })
    await t.rejects(
      typed.then((resolved) => tokens.run(resolved)),
      { name: 'UsageError', message },
    )
  }
  const nowhere = startCommand(t, ['token', 'create', here])
  t.equal(await nowhere.ended, 1)
  t.match(nowhere.output(), /^kubestage: no cluster runs in /)
})
