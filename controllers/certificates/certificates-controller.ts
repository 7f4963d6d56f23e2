import type { V1CertificateSigningRequest } from '@kubernetes/client-node'
import { ignoreNotFound, ignoring } from '../../shared/api/status/status-error.ts'
import type { Node, ObjectMeta, WithMeta } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { everyState, type Informer } from '../../shared/client/informer.ts'
import { certificateSigningRequests, nodes, subjectAccessReviews } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import { type KeyPair, signCertificate } from '../../shared/pki/certificate.ts'
import { isExtendedUsage, isKeyUsage } from '../../shared/pki/identifiers.ts'
import { readSigningRequest, type SigningRequest } from '../../shared/pki/signing-request.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { type Approval, approvals, type RegisteredNode, type Requestor } from './approval.ts'
import { isOver } from './cleaning.ts'
import { signers } from './signers.ts'

type Request = WithMeta<V1CertificateSigningRequest>
interface AccessReview {
  metadata: ObjectMeta
  spec: object
  status?: { allowed: boolean }
}
type Condition = NonNullable<NonNullable<Request['status']>['conditions']>[number]

const NODE_PREFIX = 'system:node:'
const NODE_RETRY_MS = 1_000
/** A role may be bound later. */
const PERMISSION_RETRY_MS = 10_000
const SWEEP_MS = 3_600_000
const BACKDATE_MS = 300_000
const LONGEST_SECONDS = 365 * 86_400

/**
 * Approves the certificates that kubelets ask for, signs what is approved for one of Kubernetes' own signers, and
 * clears away what is over. Upstream: pkg/controller/certificates.
 */
class CertificatesController implements Controller {
  readonly #ca: KeyPair
  readonly #client: Client
  readonly #clock: Clock
  readonly #requests: Informer<Request>
  readonly #queue: WorkQueue<string>
  readonly #cleaner: WorkQueue<'sweep'>

  constructor(context: ControllerContext, ca: KeyPair) {
    this.#ca = ca
    const { client, informers, clock, log } = context
    this.#client = client
    this.#clock = clock
    this.#requests = informers.selected<Request>(certificateSigningRequests, {
      handlers: [everyState(({ metadata }) => this.#queue.add(metadata.name ?? ''))],
    })
    this.#queue = createLoopQueue(
      { clock, log, loop: 'certificatesigningrequest-controller', object: 'CertificateSigningRequest' },
      (name) => this.#sync(name).catch(unlessObsolete),
    )
    this.#cleaner = createLoopQueue<'sweep'>(
      { clock, log, loop: 'certificatesigningrequest-controller', object: () => 'old CertificateSigningRequests' },
      async () => {
        for (const request of [...this.#requests.list()])
          if (isOver(request, clock.now()))
            await client.delete(certificateSigningRequests, { name: request.metadata.name ?? '' }).catch(unlessObsolete)
        this.#cleaner.addAfter('sweep', SWEEP_MS)
      },
    )
    this.#cleaner.addAfter('sweep', SWEEP_MS)
  }

  async close(): Promise<void> {
    await Promise.all([this.#queue.close(), this.#cleaner.close()])
  }

  async #sync(name: string): Promise<void> {
    const request = this.#requests.get({ name })
    const signer = request && signers[request.spec.signerName]
    if (!request || !signer || request.status?.certificate || has(request, 'Denied') || has(request, 'Failed')) return
    const wanted = parsed(request)
    if (!has(request, 'Approved')) {
      const { signerName, usages = [] } = request.spec
      if (wanted instanceof Error) return
      const node = await this.#registeredNode(request.spec)
      if (!node && signerName === 'kubernetes.io/kubelet-serving') this.#queue.addAfter(name, NODE_RETRY_MS)
      const grounds = approvals(signerName, wanted, usages, request.spec, node)
      const { message } = (await this.#firstAllowed(grounds, request.spec)) ?? {}
      if (message) await this.#condition(request, { type: 'Approved', reason: 'AutoApproved', message }, 'approval')
      else if (grounds.length > 0) this.#queue.addAfter(name, PERMISSION_RETRY_MS)
      return
    }
    const refusal = wanted instanceof Error ? wanted.message : signer.refusal(wanted, request.spec.usages ?? [])
    if (refusal || wanted instanceof Error)
      await this.#condition(
        request,
        { type: 'Failed', reason: 'SignerValidationFailure', message: refusal ?? '' },
        'status',
      )
    else await this.#issue(request, wanted)
  }

  /** The node that asks for itself; a kubelet may ask before it has registered its node. */
  async #registeredNode({ username = '' }: Requestor): Promise<RegisteredNode | undefined> {
    if (!username.startsWith(NODE_PREFIX)) return undefined
    const name = username.slice(NODE_PREFIX.length)
    const node = await this.#client.get<Node>(nodes, { name }).catch(ignoreNotFound)
    return node && { name, addresses: (node.status?.addresses ?? []).map(({ address }) => address) }
  }

  async #firstAllowed(grounds: readonly Approval[], requestor: Requestor): Promise<Approval | undefined> {
    for (const ground of grounds) {
      if (ground.permission === undefined || (await this.#mayCreate(ground.permission, requestor))) return ground
    }
    return undefined
  }

  async #mayCreate(subresource: string, { username, uid, groups, extra }: Requestor): Promise<boolean> {
    const { group, plural } = certificateSigningRequests
    const resourceAttributes = { group, version: '*', resource: plural, subresource, verb: 'create' }
    const spec = { user: username, uid, groups, extra, resourceAttributes }
    const { status } = await this.#client.create<AccessReview>(subjectAccessReviews, { metadata: {}, spec })
    return status?.allowed ?? false
  }

  async #condition(
    request: Request,
    { type, reason, message }: Pick<Condition, 'type' | 'reason' | 'message'>,
    subresource: 'approval' | 'status',
  ): Promise<void> {
    const now = toTime(this.#clock.now())
    const added = { type, status: 'True', reason, message, lastUpdateTime: now, lastTransitionTime: now }
    const conditions = [...(request.status?.conditions ?? []), added]
    await this.#client.update(
      certificateSigningRequests,
      { ...request, status: { ...request.status, conditions } },
      { subresource },
    )
  }

  async #issue(request: Request, wanted: SigningRequest): Promise<void> {
    const { usages = [], expirationSeconds = LONGEST_SECONDS } = request.spec
    const nowMs = this.#clock.machine.now()
    const pem = signCertificate(
      {
        subject: wanted.subject,
        publicKeyInfo: wanted.publicKeyInfo,
        altNames: wanted.altNames,
        keyUsages: usages.filter(isKeyUsage),
        extendedUsages: usages.filter(isExtendedUsage),
        notBefore: toTime(nowMs - BACKDATE_MS),
        notAfter: toTime(nowMs + Math.min(expirationSeconds, LONGEST_SECONDS) * 1000),
      },
      this.#ca,
    )
    const certificate = Buffer.from(pem).toString('base64')
    await this.#client.update(
      certificateSigningRequests,
      { ...request, status: { ...request.status, certificate } },
      { subresource: 'status' },
    )
  }
}

export const startCertificatesController = (context: ControllerContext, ca: KeyPair): Controller =>
  new CertificatesController(context, ca)

const has = ({ status }: Request, type: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type) ?? false

function parsed({ spec }: Request): SigningRequest | Error {
  try {
    return readSigningRequest(Buffer.from(spec.request, 'base64').toString('latin1'))
  } catch (error) {
    return error as Error
  }
}

/** Someone changed or removed it meanwhile: the news of that brings us back. */
const unlessObsolete = ignoring('Conflict', 'NotFound')
