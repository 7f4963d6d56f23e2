import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { BadImage } from '../../../kubelet/images/bad-image.ts'
import { imageLimits } from '../../../kubelet/images/limits.ts'
import { importTree } from '../../../kubelet/images/load/import-tree.ts'
import { loadImages } from '../../../kubelet/images/load/load-images.ts'
import type { ImageRecord } from '../../../kubelet/images/store/image-record.ts'
import { ImageStore } from '../../../kubelet/images/store/image-store.ts'
import { StoredImages } from '../../../kubelet/images/stored-images.ts'
import { unpackLayer } from '../../../kubelet/images/unpack/unpack-layer.ts'
import { parseImageName } from '../../../kubelet/runtime/images/image-name.ts'
import {
  type Entry,
  entriesOf,
  file,
  folder,
  type ImageParts,
  link,
  ociFiles,
  savedEntries,
  sha256,
  symlink,
  tarOf,
} from '../../harness/image-archives.ts'

const isRoot = process.getuid?.() === 0

/** A store in a folder of the test, and beside it a file that nothing may change. */
function storeOf(t: Test): { root: string; store: ImageStore; file(bytes: Buffer): string; assertCanary(): void } {
  const folder = scratch(t)
  writeFileSync(join(folder, 'canary'), 'alive')
  const root = join(folder, 'store')
  return {
    root,
    store: new ImageStore(root),
    file(bytes) {
      const path = join(folder, 'image.tar')
      writeFileSync(path, bytes)
      return path
    },
    assertCanary() {
      t.same(
        readdirSync(folder)
          .sort()
          .filter((name) => !['store', 'image.tar'].includes(name)),
        ['canary'],
      )
      t.equal(readFileSync(join(folder, 'canary'), 'utf8'), 'alive')
    },
  }
}

/** A folder that is the test's own, and goes with it. */
function scratch(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-images-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const inStore = (root: string, name: string): string[] =>
  existsSync(join(root, name)) ? readdirSync(join(root, name)) : []

const pathsBelow = (root: string, folder = ''): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? [path, ...pathsBelow(root, path)] : [path]
  })

/** What containers see of the only image. */
function tree(store: ImageStore, [record]: ImageRecord[]): Record<string, string> {
  const root = store.images.root(record!)
  const paths = pathsBelow(root)
  return Object.fromEntries(
    paths.map((path) => {
      const stat = lstatSync(join(root, path))
      const what = stat.isDirectory() ? '/' : stat.isSymbolicLink() ? `-> ${readlinkSync(join(root, path))}` : undefined
      return [path, what ?? readFileSync(join(root, path), 'utf8')]
    }),
  )
}

async function twoLayers(): Promise<ImageParts> {
  const below = await tarOf([
    folder('etc/'),
    file('etc/a', 'a'),
    file('etc/b', 'b'),
    folder('data', { mode: 0o1777 }),
    file('data/old', 'old'),
    folder('opt/x'),
    file('opt/x/deep', 'deep'),
    symlink('bin', 'usr/bin'),
    file('usr/bin/tool', 'tool', { mode: 0o4755 }),
    link('usr/bin/same', 'usr/bin/tool'),
  ])
  const above = await tarOf([
    file('etc/a', 'changed'),
    file('etc/.wh.b', ''),
    file('data/.wh..wh..opq', ''),
    file('data/new', 'new'),
    file('opt/.wh.x', ''),
    file('opt/x', 'now a file'),
  ])
  const config = { Entrypoint: ['/bin/tool'], Cmd: ['-v'], Env: ['A=1', 'B=x=y'], User: 'web', StopSignal: 'SIGQUIT' }
  return { name: 'shop/web:2', layers: [below, above], config }
}

const merged = {
  bin: '-> usr/bin',
  data: '/',
  'data/new': 'new',
  etc: '/',
  'etc/a': 'changed',
  opt: '/',
  'opt/x': 'now a file',
  usr: '/',
  'usr/bin': '/',
  'usr/bin/same': 'tool',
  'usr/bin/tool': 'tool',
}

t.test('an archive of docker save becomes an image, layer upon layer', async (t) => {
  const { store, root, file } = storeOf(t)
  const image = await twoLayers()
  const loaded = await loadImages(store, file(await tarOf(savedEntries(image))))
  t.match(loaded, [
    {
      name: 'docker.io/shop/web:2',
      config: { entrypoint: ['/bin/tool'], cmd: ['-v'], env: { A: '1', B: 'x=y' }, user: 'web', stopSignal: 'SIGQUIT' },
    },
  ])
  t.same(tree(store, loaded), merged)
  t.same(store.images.all(), loaded)
  const place = store.images.root(loaded[0]!)
  t.equal(statSync(join(place, 'usr/bin/tool')).mode & 0o7777, 0o4755)
  t.equal(statSync(join(place, 'data')).mode & 0o7777, 0o1777, 'a folder that a layer only mentions keeps its mode')
  t.equal(statSync(join(place, 'usr/bin/tool')).ino, statSync(join(place, 'usr/bin/same')).ino)
  t.equal(statSync(root).mode & 0o777, 0o700)
  t.same(inStore(root, 'loading'), [])
})

t.test('so do an OCI layout, in a folder or an archive, and archives that are compressed', async (t) => {
  const image = await twoLayers()
  for (const packing of ['gzip', 'zstd', 'none'] as const) {
    const files = ociFiles(image, packing)
    const archive = storeOf(t)
    t.same(tree(archive.store, await loadImages(archive.store, archive.file(await tarOf(entriesOf(files))))), merged)
    const layout = scratch(t)
    for (const [name, content] of files) {
      mkdirSync(dirname(join(layout, name)), { recursive: true })
      writeFileSync(join(layout, name), content)
    }
    const unpacked = storeOf(t)
    const [record] = await loadImages(unpacked.store, layout)
    t.same(tree(unpacked.store, [record!]), merged, packing)
    const manifest = JSON.parse(String(files.get('index.json'))).manifests[0].digest
    t.equal(record?.digest, manifest, 'a registry knows it by this digest')
    const byDigest = { domain: 'docker.io', repository: 'shop/web', digest: manifest }
    t.equal(unpacked.store.images.find(byDigest)?.id, record?.id)
  }
  const { store, file } = storeOf(t)
  const compressed = file(gzipSync(await tarOf(savedEntries(image))))
  t.same(tree(store, await loadImages(store, compressed)), merged)
})

t.test('standard input will do, and a name for an image that has none', async (t) => {
  const { store } = storeOf(t)
  const { name, ...image } = await twoLayers()
  const bytes = await tarOf(savedEntries(image))
  async function* stream() {
    for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700)
  }
  await t.rejects(loadImages(store, stream()), { message: /does not name its image/ })
  t.match(await loadImages(store, stream(), { name: 'mine' }), [{ name: 'docker.io/library/mine:latest' }])
})

t.test('a layer that two images have is unpacked once, and stays until the last of them goes', async (t) => {
  const { store, root, file } = storeOf(t)
  const image = await twoLayers()
  await loadImages(store, file(await tarOf(savedEntries(image))))
  const other = { ...image, name: 'other', layers: image.layers.slice(0, 1) }
  const [second] = await loadImages(store, file(await tarOf(savedEntries(other))))
  t.equal(inStore(root, 'layers').length, 2)
  await store.remove(store.images.all().filter(({ name }) => name.includes('shop')))
  t.equal(inStore(root, 'layers').length, 1)
  t.same(inStore(root, 'roots'), [])
  await store.remove([second!])
  for (const part of ['names', 'layers', 'roots', 'blobs', 'loading']) t.same(inStore(root, part), [], part)
})

t.test('a layer that the store has is not unpacked again', async (t) => {
  const { store, file: archive } = storeOf(t)
  const image = await twoLayers()
  await loadImages(store, archive(await tarOf(savedEntries(image))))
  const files = ociFiles(image, 'none')
  for (const layer of image.layers) files.set(`blobs/sha256/${sha256(layer)}`, await tarOf([file('other', 'unread')]))
  const again = await loadImages(store, archive(await tarOf(entriesOf(files))))
  t.same(tree(store, again), merged)
})

t.test('many load the same image at once', async (t) => {
  const { store, root, file } = storeOf(t)
  const path = file(await tarOf(savedEntries(await twoLayers())))
  const all = await Promise.all([1, 2, 3, 4, 5].map(() => loadImages(new ImageStore(root), path)))
  for (const loaded of all) t.same(tree(store, loaded), merged)
  t.equal(inStore(root, 'layers').length, 2)
  t.same(inStore(root, 'loading'), [])
})

t.test('a name that goes to another image is lost by the first, whose parts go with prune', async (t) => {
  const { store, root, file } = storeOf(t)
  await loadImages(store, file(await tarOf(savedEntries(await twoLayers()))))
  const layer = await tarOf([{ name: 'x', content: 'x' }])
  const [record] = await loadImages(store, file(await tarOf(savedEntries({ name: 'shop/web:2', layers: [layer] }))))
  t.same(store.images.all(), [record])
  t.equal(await store.prune(), 2)
  t.same(inStore(root, 'layers'), [sha256(layer)])
})

t.test('a kubelet reads the record of an image once, and again when its name goes to another', async (t) => {
  const { store, root, file } = storeOf(t)
  const stored = new StoredImages(root)
  const name = parseImageName('shop/web:2')
  t.equal(stored.find(name), undefined)
  await loadImages(store, file(await tarOf(savedEntries(await twoLayers()))))
  const first = stored.find(name)
  t.same(first?.root?.user, 'web')
  t.equal(stored.find(name), first, 'the same object, by which its files are known')
  const layer = await tarOf([{ name: 'x', content: 'x' }])
  const [record] = await loadImages(store, file(await tarOf(savedEntries({ name: 'shop/web:2', layers: [layer] }))))
  t.same(stored.find(name)?.root, { folder: store.images.root(record!), volumes: [] })
  await store.remove([record!])
  t.equal(stored.find(name), undefined)
})

t.test('a folder becomes an image, with its links and modes', async (t) => {
  const { store } = storeOf(t)
  const source = t.testdir({ bin: { sh: 'a shell' }, empty: {}, a: t.fixture('symlink', 'bin/sh') })
  const loaded = await importTree(store, source, 'my/base:1')
  t.same(tree(store, loaded), { a: '-> bin/sh', bin: '/', 'bin/sh': 'a shell', empty: '/' })
  t.same(await importTree(store, source, 'my/base:1'), loaded, 'the same folder is the same image')
})

/** What is wrong with a layer, and what is said about it. */
const badLayers: Record<string, [Entry[], RegExp]> = {
  'a name above the root': [[file('../canary', 'dead')], /"\.\.\/canary" leads out of the image/],
  'a name above the root, further on': [[file('a/../../canary', 'dead')], /leads out of the image/],
  'a link above the root, and a file in it': [
    [symlink('out', '../../../../..'), file('out/canary', 'dead')],
    /leads out of the image by a link/,
  ],
  'links in a circle': [[symlink('a', 'b'), symlink('b', 'a'), file('a/x', '')], /too many links/],
  'a hard link above the root': [[link('x', '../../canary')], /leads out of the image/],
  'a hard link to nothing': [[link('x', 'y')], /"x" is a link to "y", which is not a file of the layer/],
  'a hard link through a link': [
    [symlink('up', '../../../..'), link('x', 'up/canary')],
    /leads out of the image by a link/,
  ],
  'a device': [[{ name: 'disk', type: 'block-device', devmajor: 8, devminor: 0 }], /"disk" is a device/],
  'a file as a folder': [[file('a', ''), file('a/b', '')], /"a" is not a folder, but "a" is within it|is not a folder/],
  'a whiteout of nothing': [[file('.wh...', '')], /removes no file/],
}

t.test('a layer that leads out of the image is refused, and nothing is left', async (t) => {
  for (const [what, [entries, message]] of Object.entries(badLayers)) {
    const { store, root, file: write, assertCanary } = storeOf(t)
    const image = { name: 'bad', layers: [await tarOf(entries)] }
    for (const archive of [savedEntries(image), entriesOf(ociFiles(image))]) {
      await t.rejects(loadImages(store, write(await tarOf(archive))), { constructor: BadImage, message }, what)
      for (const part of ['names', 'layers', 'roots', 'blobs', 'loading']) t.same(inStore(root, part), [], part)
      assertCanary()
    }
  }
})

t.test('what an image links to stays within it', async (t) => {
  const { store, file: write, assertCanary } = storeOf(t)
  const layer = await tarOf([symlink('etc', '/really/there'), file('etc/passwd', 'root'), symlink('up', '../../..')])
  const loaded = await loadImages(store, write(await tarOf(savedEntries({ name: 'links', layers: [layer] }))))
  t.same(tree(store, loaded), {
    etc: '-> /really/there',
    really: '/',
    'really/there': '/',
    'really/there/passwd': 'root',
    up: '-> ../../..',
  })
  assertCanary()
})

t.test('a layer that removes through a link of another layer removes nothing', async (t) => {
  const { store, file: write, assertCanary } = storeOf(t)
  const layers = [
    await tarOf([symlink('out', '../../../..')]),
    await tarOf([file('out/.wh.canary', ''), file('out/.wh..wh..opq', '')]),
  ]
  await loadImages(store, write(await tarOf(savedEntries({ name: 'links', layers }))))
  assertCanary()
})

t.test('damaged archives are told apart', async (t) => {
  const image = await twoLayers()
  const whole = await tarOf(savedEntries(image))
  const files = ociFiles(image)
  const layer = [...files.keys()].at(-3) ?? ''
  const changed = new Map(files).set(layer, gzipSync(await tarOf([file('other', '')])))
  const cases: Record<string, [Buffer, RegExp]> = {
    'cut in the middle': [whole.subarray(0, whole.length / 2), /truncated|has neither|lacks/],
    'cut, compressed': [gzipSync(whole).subarray(0, 300), /truncated/],
    'no archive': [Buffer.from('not an archive at all'.repeat(100)), /not a valid tar archive/],
    'no image': [
      await tarOf([file('README', 'hello')]),
      /is not an image: it has neither index.json nor manifest.json/,
    ],
    'another layer': [await tarOf(entriesOf(changed)), /is damaged: its digest is sha256:/],
    'a layer is missing': [
      await tarOf(savedEntries(image).filter(({ name }) => !name.endsWith('layer.tar'))),
      /lacks the layer/,
    ],
    xz: [Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]), /compressed with xz; gzip and zstd are known/],
    'a layer cut': [
      await tarOf(
        entriesOf(new Map([...files].map(([name, bytes]) => [name, name === layer ? bytes.subarray(0, 90) : bytes]))),
      ),
      /truncated/,
    ],
    'another platform': [
      await tarOf(savedEntries({ ...image, platform: { os: 'linux', architecture: 's390x' } })),
      /no match for platform linux\/\w+: the image is for linux\/s390x/,
    ],
    '10,000 layers': [
      await tarOf([
        file('c.json', '{}'),
        file('manifest.json', JSON.stringify([{ Config: 'c.json', RepoTags: ['a'], Layers: Array(10_000).fill('x') }])),
      ]),
      /has 10000 layers; an image may have 500/,
    ],
    'a name that is none': [await tarOf(savedEntries({ ...image, name: 'Not A Name' })), /is not the name of an image/],
  }
  for (const [what, [bytes, message]] of Object.entries(cases)) {
    const { store, root, file: write } = storeOf(t)
    await t.rejects(loadImages(store, write(bytes)), { constructor: BadImage, message }, what)
    t.same(inStore(root, 'names'), [])
    t.same(inStore(root, 'loading'), [])
    await store.prune()
    t.same(inStore(root, 'layers'), [])
  }
})

t.test('a bomb is stopped', async (t) => {
  const limits = { ...imageLimits, ratioFrom: 2 ** 20, bytes: 2 ** 22, entries: 50 }
  const bombs: Record<string, [Buffer, RegExp]> = {
    zeros: [gzipSync(await tarOf([file('zeros', Buffer.alloc(2 ** 21))])), /unpacks to more than 200 times its size/],
    'a large file': [await tarOf([file('large', Buffer.alloc(2 ** 22 + 1))]), /has more than 4194304 bytes/],
    'many files': [await tarOf(Array.from({ length: 51 }, (_, n) => file(`${n}`, ''))), /has more than 50 files/],
  }
  for (const [what, [bytes, message]] of Object.entries(bombs)) {
    async function* chunks() {
      for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000)
    }
    await t.rejects(unpackLayer(chunks(), join(scratch(t), 'layer'), { limits }), { message }, what)
  }
})

t.test('owners are kept where root loads', { skip: isRoot ? false : 'needs root' }, async (t) => {
  const { store, file: write } = storeOf(t)
  const layer = await tarOf([folder('home', { uid: 7, gid: 8 }), file('home/x', 'x', { uid: 1000, gid: 1001 })])
  const [record] = await loadImages(store, write(await tarOf(savedEntries({ name: 'owned', layers: [layer] }))))
  const place = store.images.root(record!)
  t.match(statSync(join(place, 'home')), { uid: 7, gid: 8 })
  t.match(statSync(join(place, 'home/x')), { uid: 1000, gid: 1001 })
})

const xattr = (name: string, value: string | Buffer, record = `SCHILY.xattr.${name}`): Buffer => {
  const rest = Buffer.concat([Buffer.from(` ${record}=`), Buffer.from(value), Buffer.from('\n')])
  let length = rest.length
  while (`${length}`.length + rest.length !== length) length = `${length}`.length + rest.length
  return Buffer.concat([Buffer.from(`${length}`), rest])
}
/** What archives have in front of an entry with extended attributes. */
const attributesOf = (...records: Buffer[]): Entry => file('pax-x', Buffer.concat(records))

/** Names and values, in hex, of a file's extended attributes. */
function attributesAt(path: string): Record<string, string> {
  const numbers = process.arch === 'x64' ? [194, 191] : [12, 9] // llistxattr, lgetxattr
  const script = String.raw`my ($list, $get, $path) = @ARGV; my $names = "\0" x 4096; my $n = syscall($list + 0, $path, $names, 4096);
    for my $name (split /\0/, substr($names, 0, $n)) { my $value = "\0" x 70000; my $size = syscall($get + 0, $path, $name, $value, 70000);
    print "$name ", unpack('H*', substr($value, 0, $size)), "\n" }`
  const { stdout } = spawnSync('perl', ['-e', script, ...numbers.map(String), path], { encoding: 'utf8' })
  return Object.fromEntries(stdout.split('\n').flatMap((line) => (line ? [line.split(' ')] : [])))
}
const maySetUid = Buffer.from('0100000280000000000000000000000000000000', 'hex') // cap_setuid=ep

t.test(
  'extended attributes',
  { skip: process.platform === 'linux' && isRoot ? false : 'needs Linux, and root' },
  async (t) => {
    const load = async (t: Test, entries: Entry[], limits = imageLimits): Promise<(name: string) => string> => {
      const bytes = await tarOf(entries)
      async function* chunks() {
        yield bytes
      }
      const place = scratch(t)
      chmodSync(place, 0o755)
      writeFileSync(join(place, 'canary'), 'alive')
      try {
        await unpackLayer(chunks(), join(place, 'layer'), { limits })
      } finally {
        t.same(attributesAt(join(place, 'canary')), {})
      }
      return (name) => join(place, 'layer', 'fs', name)
    }
    const bytes = Buffer.from([0xff, 0, 0x0a, 0xc0, 0x3d])

    t.test('capabilities and attributes of users are kept, byte by byte', async (t) => {
      const at = await load(t, [
        attributesOf(xattr('security.capability', maySetUid), xattr('user.a=b', 'x'), xattr('user.raw', bytes)),
        file('bin/su', '', { uid: 7, gid: 8, mode: 0o755 }),
        link('bin/same', 'bin/su'),
        attributesOf(xattr('user.of', 'a folder')),
        folder('etc'),
        file('plain', ''),
      ])
      const capability = maySetUid.toString('hex')
      // The first `=` ends the name of a record.
      const kept = { 'security.capability': capability, 'user.a': '623d78', 'user.raw': bytes.toString('hex') }
      t.same(attributesAt(at('bin/su')), kept)
      t.same(attributesAt(at('bin/same')), kept)
      t.same(attributesAt(at('etc')), { 'user.of': Buffer.from('a folder').toString('hex') })
      t.same(attributesAt(at('plain')), {}, 'they are those of one entry')
    })

    t.test('others are left out', async (t) => {
      const odd = ['trusted.overlay.opaque', 'user.overlay.opaque', 'security.selinux', 'system.posix_acl_access', '']
      const at = await load(t, [
        attributesOf(
          ...odd.map((name) => xattr(name, 'y')),
          xattr('user.good', ''),
          Buffer.from('99 SCHILY.xattr.user.x='),
        ),
        file('a', ''),
        file('pax-g', xattr('user.of', 'all')),
        file('b', ''),
        attributesOf(xattr('user.first', '1')),
        file('c', ''),
        file('c', 'again'),
        attributesOf(xattr('user.x', '1')),
        file('d/e', ''),
        symlink('d', '../..'),
      ])
      t.same(attributesAt(at('a')), { 'user.good': '' }, 'a damaged record ends the list')
      for (const name of ['b', 'c']) t.same(attributesAt(at(name)), {}, name)
      t.same(attributesAt(at('d')), {}, 'a link in the place of a folder is not followed')
    })

    t.test('what no kernel takes is refused', async (t) => {
      const bad: Record<string, [Buffer[], RegExp]> = {
        'a long value': [[xattr('user.a', Buffer.alloc(70_000))], /"user.a" of 70000 bytes; the kernel takes 65536/],
        'a long name': [[xattr(`user.${'a'.repeat(300)}`, '')], /a name that no file system takes/],
        'no name': [[xattr('user.', '')], /"user.", a name that no file system takes/],
        'a zero in the name': [[xattr('user.a\0b', '')], /a name that no file system takes/],
        'many bytes': [
          Array.from({ length: 3 }, (_, n) => xattr(`user.${n}`, Buffer.alloc(400))),
          /more than 1000 bytes of/,
        ],
        'a header of 5 MiB': [[xattr('user.a', Buffer.alloc(5 * 2 ** 20))], /not a valid tar archive: Header exceeds/],
      }
      const limits = { ...imageLimits, attributeBytes: 1000 }
      for (const [what, [records, message]] of Object.entries(bad))
        await t.rejects(load(t, [attributesOf(...records), file('a', '')], limits), { message }, what)
    })

    t.test('an ordinary user goes without those that are root’s', async (t) => {
      const at = await load(t, [file('own', '')])
      chownSync(at('own'), 65_534, 65_534)
      const value = (name: string, hex: string) => `{ name: '${name}', value: Buffer.from('${hex}', 'hex') }`
      const all = [value('security.capability', maySetUid.toString('hex')), value('user.a', '01')]
      const module = join(import.meta.dirname, '../../../kubelet/images/unpack/set-attributes.ts')
      const code = `import { setAttributes } from '${module}'; setAttributes([['${at('own')}', [${all.join()}]]])`
      const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath]
      chmodSync(dirname(dirname(at('own'))), 0o755)
      const { status, stderr } = spawnSync('setpriv', [...nobody, '--input-type=module', '-e', code], {
        encoding: 'utf8',
      })
      t.equal(status, 0, stderr)
      t.same(attributesAt(at('own')), { 'user.a': '01' })
    })
  },
)
