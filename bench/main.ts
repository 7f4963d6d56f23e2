/**
 * `npm run bench`: what Kubestage does in a second, and what the same machine would do at best. See
 * docs/performance.md.
 */
import { startBareApi, withKubestage } from './cluster.ts'
import { busy, machine, show } from './documents.ts'
import { prepare } from './measure.ts'
import { HELP, isChosen, options, rounds } from './options.ts'
import { bareApi, startKubestage } from './processes.ts'
import { comparisonTable, type Row, table } from './report.ts'

// What a signal ends leaves no server behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

if (options.help) process.stdout.write(HELP)
else if (options.against) {
  await (await import('./compare/commit.ts')).compareWith(options.against)
  if (options.real) await showReal(options.real)
} else if (options.scale) await showScale(Number(options.scale))
else if (options.growth) await showGrowth(Number(options.growth))
else if (options.soak) await (await import('./soak.ts')).soak(Number(options.soak))
else if (options.storage === 'etcd') await showEtcd()
else {
  await showParts()
  if (isChosen('servers')) await showServers()
  if (isChosen('http2')) await showHttp2()
  if (isChosen('ui')) await showPage()
  if (options.real) await showReal(options.real)
}

async function showParts(): Promise<void> {
  const [{ parts }, { startRounds }] = await Promise.all([import('./parts/index.ts'), import('./parts/api.ts')])
  const rows: Row[] = []
  for (const { names, measure } of parts) if (names.some(isChosen)) rows.push(...(await measure()))
  if (rows.length > 0) show('bench', `${table(rows)}\n\n${machine}; median of ${rounds}, of starts ${startRounds}.`)
}

async function showServers(): Promise<void> {
  const { measureSharedStore } = await import('./compare/servers.ts')
  const comparisons = await measureSharedStore(rounds, bareApi)
  const text = comparisonTable(comparisons, 'one server').replace('Kubestage', 'two servers')
  process.stdout.write(`${text}\n\n${machine}; median of ${rounds}; ${busy()}.\n`)
}

async function showHttp2(): Promise<void> {
  const { measureHttp2 } = await import('./compare/http2.ts')
  const comparisons = await measureHttp2(startBareApi, rounds)
  show('http2', `${comparisonTable(comparisons, '--http2=node')}\n\n${machine}; median of ${rounds}.`)
}

async function showPage(): Promise<void> {
  const { measureUi } = await import('./ui/ui.ts')
  const rows = await withKubestage(bareApi, async (server) => {
    await prepare(server.target)
    return measureUi(server, { rounds, program: options.chromium })
  })
  show('ui', `${table(rows)}\n\n${machine}; median of ${rounds}; ${busy()}.`)
}

async function showReal(bin: string): Promise<void> {
  const { measureVersus } = await import('./compare/versus.ts')
  const comparisons = await measureVersus({ bin, rounds, startOurs: () => startBareApi() })
  const text = comparisonTable(comparisons, 'kube-apiserver + etcd')
  show('real', `${text}\n\n${machine}; median of ${rounds}; ${busy()}.`)
}

async function showScale(pods: number): Promise<void> {
  const { growCluster } = await import('./scale/grow.ts')
  const text = `${await growCluster(pods)}\n\n${machine}; ${busy()}.`
  if (options.storage === 'etcd') show('scale-etcd', text)
  else process.stdout.write(`${text}\n`)
}

async function showGrowth(objects: number): Promise<void> {
  const { measureGrowth } = await import('./scale/growth.ts')
  const text = await measureGrowth({ objects, rounds, withServer: withKubestage })
  show('growth', `${text}\n\n${machine}; median of ${rounds}; ${busy()}.`)
}

async function showEtcd(): Promise<void> {
  const { measureEtcd } = await import('./compare/etcd.ts')
  const start = (stateDir: string, more: readonly string[]) =>
    startKubestage({ stateDir, flags: [...bareApi, ...more], profileDir: options.profile })
  const { requests, puts, servers } = await measureEtcd({ bin: options.real, rounds, start })
  const tables = [
    comparisonTable(requests, options.real ? 'kube-apiserver' : 'in memory'),
    comparisonTable(puts, 'bare puts'),
    comparisonTable(servers, 'one server').replace('Kubestage', 'two servers'),
  ]
  show('etcd', `${tables.join('\n\n')}\n\n${machine}; median of ${rounds}; ${busy()}.`)
}
