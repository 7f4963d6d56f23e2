/** Images that a kubelet removes: which, when, and what it says. On a disk and a clock that the test moves. */
import t, { type Test } from 'tap'
import { parseThresholds } from '../../../kubelet/eviction/thresholds.ts'
import { imageGarbageOptions, imageGarbagePolicy } from '../../../kubelet/images/garbage/options.ts'
import { sizeText } from '../../../kubelet/images/garbage/size-text.ts'
import { shownImages } from '../../../kubelet/node/node-images.ts'
import type { ImageService, KeptImage } from '../../../kubelet/runtime/image-service.ts'
import type { Event, Node } from '../../../shared/api/types.ts'
import { resolveOptions } from '../../../shared/config/resolve.ts'
import { machine } from '../machine.ts'

const MiB = 2 ** 20
const capacity = 1000 * MiB
const minute = 60_000
const image = (name: string, mebibytes: number, more: Partial<KeptImage> = {}): KeptImage => ({
  id: `simulated:${name}`,
  repoDigests: [],
  repoTags: [`docker.io/library/${name}:1`],
  sizeBytes: mebibytes * MiB,
  pinned: false,
  ...more,
})

/** Images on a disk of 1000 MiB, of which others take some. */
class Disk implements ImageService {
  readonly folder = '/'
  readonly images = new Map<string, KeptImage>()
  readonly removed: string[] = []
  readonly busy = new Set<string>()
  othersMiB = 0
  failure: string | undefined

  add(...images: KeptImage[]): void {
    for (const image of images) this.images.set(image.id, image)
  }
  get available(): number {
    const used = [...this.images.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, this.othersMiB * MiB)
    return capacity - used
  }
  async list() {
    return [...this.images.values()]
  }
  idOf(reference: string) {
    return this.images.has(`simulated:${reference}`) ? `simulated:${reference}` : undefined
  }
  async remove(id: string) {
    if (this.failure) throw new Error(this.failure)
    if (this.busy.has(id)) return false
    this.removed.push(id.replace('simulated:', ''))
    return this.images.delete(id)
  }
}

async function startNode(t: Test, args: string[] = [], options: Parameters<typeof machine>[2] = {}) {
  const disk = new Disk()
  const { values } = await resolveOptions(imageGarbageOptions, { args, env: {} })
  const on = machine(
    t,
    {},
    {
      images: disk,
      imageGarbage: imageGarbagePolicy(values),
      imageDisk: async () => ({ available: disk.available, capacity }),
      ...options,
    },
  )
  const events: Event[] = []
  on.api.onWrite(({ plural, object }) => {
    if (plural === 'events') events.push(structuredClone(object) as unknown as Event)
  })
  const kubelet = await on.start()
  t.teardown(() => kubelet.close())
  const told = (reason: string): string[] =>
    events.filter((one) => one.reason === reason).map(({ message = '' }) => message)
  const isRunning = (name: string) => on.pod(name)?.status?.phase === 'Running'
  return { ...on, disk, kubelet, told, isRunning }
}

t.test('images that no container uses go from a full disk, the one used last comes last', async (t) => {
  const { clock, create, disk, told, delete: remove, isRunning } = await startNode(t)
  disk.add(image('old', 100), image('running', 100), image('volume', 50), image('loaded', 200, { pinned: true }))
  for (const name of ['running', 'used']) await create(name, { containers: [{ name: 'c', image: name }] })
  await create('mounting', {
    containers: [{ name: 'c', image: 'x' }],
    volumes: [{ name: 'v', image: { reference: 'volume' } }],
  })
  disk.add(image('used', 100))
  await clock.advance(12 * 1000)
  t.ok(isRunning('running') && isRunning('used'))
  remove('used')
  await clock.advance(5 * minute)
  t.same(disk.removed, [], 'the disk has room')
  disk.othersMiB = 320
  await clock.advance(5 * minute)
  t.same(disk.removed, ['old'], '870 of 1000 MiB are used: 70 have to go')
  disk.othersMiB = 420
  disk.add(image('new', 10))
  await clock.advance(5 * minute)
  t.same(disk.removed, ['old', 'used'], 'not what has just come')
  disk.othersMiB = 600
  await clock.advance(5 * minute)
  t.same(disk.removed, ['old', 'used', 'new'])
  t.same(told('FreeDiskSpaceFailed'), [
    "Insufficient free disk space on the node's image filesystem (96% of 1000.0 MiB used). Failed to free sufficient space by deleting unused images (freed 10485760 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.",
  ])
  t.same(told('ImageGCFailed'), [], 'a failure alone is not told')
  await clock.advance(5 * minute)
  t.equal(told('FreeDiskSpaceFailed').length, 2)
  t.match(told('ImageGCFailed'), [/^Insufficient free disk space .* \(freed 0 bytes\)/])
})

t.test('images age', async (t) => {
  const { clock, create, disk } = await startNode(t, ['--image-maximum-gc-age=20m'])
  disk.add(image('unused', 10), image('running', 10), image('loaded', 10, { pinned: true }))
  await create('running', { containers: [{ name: 'c', image: 'running' }] })
  await clock.advance(20 * minute)
  t.same(disk.removed, [], 'the kubelet has not run for so long')
  await clock.advance(5 * minute)
  t.same(disk.removed, ['unused'])
})

t.test('an image that a program of the machine uses stays; one that cannot be removed is told', async (t) => {
  const { clock, disk, told } = await startNode(t)
  disk.add(image('one', 100), image('busy', 400), image('two', 100))
  disk.busy.add('simulated:busy')
  await clock.advance(minute)
  disk.othersMiB = 280
  disk.failure = 'read-only file system'
  await clock.advance(10 * minute)
  t.same(told('ImageGCFailed'), [
    `wanted to free ${80 * MiB} bytes, but freed 0 bytes space with errors in image deletion: read-only file system`,
  ])
  disk.failure = undefined
  await clock.advance(5 * minute)
  t.same(disk.removed, ['one'])
})

t.test('a disk without pulled images is not the matter of images, nor with 100 percent', async (t) => {
  for (const args of [[], ['--image-gc-high-threshold=100']]) {
    const { clock, disk, told } = await startNode(t, args)
    disk.add(image('web', 10, { pinned: args.length === 0 }))
    disk.othersMiB = 980
    await clock.advance(20 * minute)
    t.same([disk.removed, told('FreeDiskSpaceFailed'), told('ImageGCFailed')], [[], [], []])
  }
})

t.test('an eviction takes images first', async (t) => {
  const thresholds = parseThresholds({
    hard: { 'imagefs.available': '10%' },
    soft: {},
    softGraceMs: {},
    minimumReclaim: {},
  })
  let disk: Disk | undefined
  const observe = async () => ({ 'imagefs.available': { available: disk?.available ?? capacity, capacity } })
  const node = await startNode(t, ['--image-gc-high-threshold=100'], {
    observe,
    eviction: {
      thresholds,
      measured: new Set(['imagefs.available']),
      maxPodGracePeriodSeconds: 0,
      pressureTransitionPeriodMs: 0,
    },
  })
  disk = node.disk
  disk.add(image('old', 200))
  await node.create('p')
  await node.clock.advance(3 * minute)
  disk.othersMiB = 750
  await node.clock.advance(10_000)
  t.same(disk.removed, ['old'])
  t.same(node.told('EvictionThresholdMet'), ['Attempting to reclaim ephemeral-storage'])
  t.same(node.told('Evicted'), [], 'that was enough')
  disk.othersMiB = 950
  await node.clock.advance(10_000)
  t.equal(node.told('Evicted').length, 1, 'pods come next')
})

t.test("the node's status has the largest images, by at most five names", async (t) => {
  const tags = ['a', 'b', 'c', 'd', 'e'].map((tag) => `docker.io/library/big:${tag}`)
  const images = [
    image('small', 1),
    image('big', 9, { repoDigests: ['docker.io/library/big@sha256:0'], repoTags: tags }),
  ]
  const big = { names: ['docker.io/library/big@sha256:0', ...tags.slice(0, 4)], sizeBytes: 9 * MiB }
  const small = { names: ['docker.io/library/small:1'], sizeBytes: MiB }
  t.same(shownImages(images, 50), [big, small])
  t.same(shownImages(images, 1), [big])
  t.same(shownImages(images, 0), [])
  t.same(shownImages(images, -1), [big, small])

  const { api, clock, disk } = await startNode(t)
  const shown = () => api.object<Node>('nodes', 'n1')?.status?.images
  t.equal(shown(), undefined)
  disk.add(image('small', 1))
  await clock.advance(10_000)
  t.same(shown(), [small])
  disk.images.clear()
  await clock.advance(10_000)
  t.equal(shown(), undefined, 'none is there any more')
})

t.test('options that do not fit together are refused', async (t) => {
  const policy = async (...args: string[]) =>
    imageGarbagePolicy((await resolveOptions(imageGarbageOptions, { args, env: {} })).values)
  t.same(await policy(), {
    highThresholdPercent: 85,
    lowThresholdPercent: 80,
    minimumAgeMs: 2 * minute,
    maximumAgeMs: 0,
  })
  await t.rejects(policy('--image-gc-low-threshold=85'), /must be less than imageGcHighThreshold/)
  await t.rejects(policy('--image-maximum-gc-age=2m'), /must be greater than imageMinimumGcAge/)
  await t.rejects(policy('--image-gc-high-threshold=101'), /from 0 to 100/)
})

t.test('sizes are written as upstream writes them', async (t) => {
  t.same([0, 1023, 1024, 1536 * 1024, 250 * 1024 ** 3, 2 * 1024 ** 4, 3000 * 1024 ** 4].map(sizeText), [
    '0 B',
    '1023 B',
    '1.0 KiB',
    '1.5 MiB',
    '250.0 GiB',
    '2.0 TiB',
    '3000.0 TiB',
  ])
})
