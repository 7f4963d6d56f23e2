import { ImageError, type ImageRequest, type ResolvedImage } from '../container-runtime.ts'
import { parseImageName } from '../images/image-name.ts'
import type { CriClient, CriError } from './api/client.ts'
import type { Read } from './api/messages.ts'

/** A pull takes what the network takes; a runtime that makes no progress gives up sooner by itself. */
const pullTimeoutMs = 3_600_000

/** Finds an image with the runtime, or lets it pull it. Throws {@link ImageError}. Upstream: EnsureImageExists. */
export async function resolveImage(
  client: CriClient,
  image: string,
  { policy, isVolume, beginPull }: ImageRequest,
): Promise<ResolvedImage> {
  const { tag, digest } = parseImageName(image)
  const spec = tag || digest ? image : `${image}:latest`
  const found = await statusOf(client, spec)
  if (policy === 'Never' && !found)
    throw new ImageError('ErrImageNeverPull', `Container image "${image}" is not present with pull policy of Never`)
  if (found && (policy !== 'Always' || !beginPull)) return resolved(found, { present: true, isVolume })
  await pull(client, spec, beginPull)
  const pulled = await statusOf(client, spec)
  if (!pulled) throw new ImageError('ErrImagePull', `image "${spec}" was pulled, and is not there`)
  return resolved(pulled, { present: false, isVolume })
}

type Found = Read<'ImageStatusResponse'> & { image: Read<'Image'> }

async function statusOf(client: CriClient, image: string): Promise<Found | undefined> {
  const answer = await client.call('imageStatus', { image: { image }, verbose: true }).catch(asImageError)
  return answer.image ? { ...answer, image: answer.image } : undefined
}

/** Tries each of the credentials, and none at all where there is none. */
async function pull(client: CriClient, image: string, beginPull: ImageRequest['beginPull']): Promise<void> {
  const credentials = (await beginPull?.()) ?? []
  const tries = credentials.length > 0 ? credentials : [undefined]
  let failure: unknown
  for (const auth of tries) {
    try {
      await client.call('pullImage', { image: { image }, ...(auth && { auth }) }, { timeoutMs: pullTimeoutMs })
      return
    } catch (error) {
      failure = error
    }
  }
  asImageError(failure)
}

function asImageError(error: unknown): never {
  throw new ImageError('ErrImagePull', (error as CriError).message)
}

/** Holds what an image says of its program, as OCI's image specification has it. */
interface ImageConfig {
  Env?: string[]
  Entrypoint?: string[]
  Cmd?: string[]
  WorkingDir?: string
  StopSignal?: string
}

function resolved(
  { image: { id, repoDigests, size, uid, username }, info }: Found,
  { present, isVolume = false }: { present: boolean; isVolume?: boolean },
): ResolvedImage {
  const { Entrypoint = [], Cmd = [], Env = [], StopSignal, WorkingDir } = configOf(id, info)
  return {
    id: repoDigests[0] ?? id,
    entrypoint: Entrypoint ?? [],
    cmd: Cmd ?? [],
    env: Object.fromEntries(
      (Env ?? []).map((entry) => [entry.split('=', 1)[0] ?? '', entry.slice(entry.indexOf('=') + 1)]),
    ),
    path: [],
    present,
    ...(WorkingDir && { workingDir: WorkingDir }),
    ...(StopSignal && { stopSignal: StopSignal }),
    bytes: size,
    isPulled: true,
    // The files themselves are the runtime's: it can show them to a container, and not to the kubelet.
    ...(!isVolume && { root: { folder: '', user: uid ? String(uid.value) : username, volumes: [] } }),
  }
}

/** Returns the image's own configuration, which containerd and CRI-O give in a field that the CRI leaves to them. */
function configOf(id: string, { info = '{}' }: Record<string, string>): ImageConfig {
  try {
    const { imageSpec } = JSON.parse(info) as { imageSpec?: { config?: ImageConfig | null } }
    if (imageSpec) return imageSpec.config ?? {}
  } catch {}
  throw new ImageError('ErrImagePull', `the container runtime does not tell the command of image ${id}`)
}
