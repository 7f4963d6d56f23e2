import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { cli } from '../harness/cluster.ts'
import { entriesOf, file, ociFiles, savedEntries, tarOf } from '../harness/image-archives.ts'
import { until } from '../harness/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubestage-images-'))
const store = join(folder, 'store')
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const started = (...args: string[]) => spawn(process.execPath, [cli, 'image', ...args, '--image-store', store])

async function image(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = started(...args)
  let [out, err] = ['', '']
  child.stdout.on('data', (data) => {
    out += data
  })
  child.stderr.on('data', (data) => {
    err += data
  })
  child.stdin.end()
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

const inStore = (part: string): string[] => (existsSync(join(store, part)) ? readdirSync(join(store, part)) : [])

t.test('images are loaded, listed and removed by commands', async (t) => {
  const archive = join(folder, 'web.tar')
  const layers = [await tarOf([file('bin/web', '#!')])]
  writeFileSync(archive, await tarOf(savedEntries({ name: 'shop/web:2', layers })))
  t.match(await image('ls'), { code: 0, out: /^NAME +ID +LAYERS +SIZE\n$/ })
  t.match(await image('load', archive), { code: 0, out: 'docker.io/shop/web:2 is loaded\n' })
  t.match(await image('load', archive, 'mine'), { code: 0, out: 'docker.io/library/mine:latest is loaded\n' })
  const listed = await image('ls', '-o', 'json')
  t.match(JSON.parse(listed.out), [{ name: 'docker.io/library/mine:latest' }, { name: 'docker.io/shop/web:2' }])
  t.match(await image('rm', 'shop/web:2'), { code: 0, out: 'docker.io/shop/web:2 is removed\n' })
  t.equal(inStore('layers').length, 1)
  t.match(await image('rm', 'shop/web:2'), { code: 1, err: /image "docker.io\/shop\/web:2" not found; / })
  const id = JSON.parse((await image('ls', '-o', 'json')).out)[0].id.slice(7, 19)
  t.match(await image('rm', id), { code: 0, out: 'docker.io/library/mine:latest is removed\n' })
  t.same(inStore('layers'), [])
  t.match(await image('load', join(folder, 'nothing')), { code: 1, err: /nothing/ })
  t.match(await image('load'), { code: 2, err: /usage: kubestage image load/ })
})

t.test('a load that is killed leaves nothing that counts as an image', async (t) => {
  const layers = [await tarOf([file('first', 'x')]), await tarOf([file('second', Buffer.alloc(2 ** 22, 'y'))])]
  const archive = await tarOf(entriesOf(ociFiles({ name: 'cut', layers }, 'none')))
  const child = started('load', '-')
  child.stdin.on('error', () => {})
  child.stdin.write(archive.subarray(0, archive.length - 2 ** 21))
  const isUnderWay = (): boolean =>
    inStore('loading').some((name) => readdirSync(join(store, 'loading', name)).length > 2)
  await until(isUnderWay, { what: 'a layer to be unpacked' })
  const ended = new Promise((resolve) => child.on('close', resolve))
  child.kill('SIGKILL')
  await ended
  t.equal(inStore('loading').length, 1, 'what it left')
  t.same(JSON.parse((await image('ls', '-o', 'json')).out), [])
  t.same(inStore('layers'), [])
  t.match(await image('prune'), { code: 0, out: '0 layers are removed\n' })
  t.same(inStore('loading'), [])
})
