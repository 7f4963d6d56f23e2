import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { readInputText } from '../../shared/config/input.ts'
import { ConfigError } from '../../shared/config/option.ts'
import type { Logger } from '../../shared/log/log.ts'
import type { Attributes } from '../auth/types.ts'
import { LogFile } from './log-file.ts'
import type { AuditFlags } from './options.ts'
import { type Policy, policyMistakes, ruleFor, type Verdict, wholeRules } from './policy.ts'
import { AuditWebhook } from './webhook.ts'

interface Sink {
  write(line: string): void
  /** Writes what waits for other lines. */
  flush?(): void
  close(): Promise<void>
}

/** Lines are made so many at a time: the code that makes them is in the processor's caches then. */
const together = 32
/** This timer serves all that waits: at few requests a second a timer costs more than a line. */
const latestMs = 15

/** Decides which requests are recorded, and takes their events to the log and the webhook. */
export class Auditor {
  readonly #rules: ReturnType<typeof wholeRules>
  readonly #sinks: readonly Sink[]
  readonly #clock: Clock
  #waiting: (() => string)[] = []
  #timer: Timer | undefined

  constructor(policy: Policy, sinks: readonly Sink[], clock: Clock) {
    this.#rules = wholeRules(policy)
    this.#sinks = sinks
    this.#clock = clock
  }

  nowMs(): number {
    return this.#clock.now()
  }

  /** Returns undefined for a request that is not recorded. */
  verdictOn(attributes: Attributes): Verdict | undefined {
    const rule = ruleFor(this.#rules, attributes)
    return rule?.level === 'None' ? undefined : rule
  }

  /** Asks for the line later, with those of other requests. */
  write(line: () => string): void {
    this.#timer ??= this.#clock.machine.setTimer(latestMs, () => this.#flush(), { background: true })
    if (this.#waiting.push(line) >= together) this.#makeLines()
  }

  #flush(): void {
    this.#timer = undefined
    this.#makeLines()
    for (const sink of this.#sinks) sink.flush?.()
  }

  #makeLines(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const line of waiting) {
      const text = line()
      for (const sink of this.#sinks) sink.write(text)
    }
  }

  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#makeLines()
    await Promise.all(this.#sinks.map((sink) => sink.close()))
  }
}

/** Resolves to undefined where nothing is recorded. Rejects with a ConfigError that names the flag that is wrong. */
export async function auditorOf(
  flags: Partial<AuditFlags>,
  { clock, log }: { clock: Clock; log: Logger },
): Promise<Auditor | undefined> {
  const { auditPolicyFile, auditLogPath, auditWebhookConfigFile } = flags
  if (!auditPolicyFile || !(auditLogPath || auditWebhookConfigFile)) return undefined
  const policy = await policyIn(auditPolicyFile)
  const sinks: Sink[] = []
  if (auditLogPath) {
    const { auditLogMaxage: maxAge = 0, auditLogMaxbackup: maxBackups = 0, auditLogMaxsize: maxSize = 0 } = flags
    const options = { path: auditLogPath, maxAge, maxBackups, maxSize, clock, log }
    sinks.push(inFlag('--audit-log-path', () => new LogFile(options)))
  }
  if (auditWebhookConfigFile) {
    const { loadKubeconfig } = await import('../../shared/client/kubeconfig.ts')
    const access = await loadKubeconfig(auditWebhookConfigFile).catch((error: Error) => {
      throw new ConfigError(`--audit-webhook-config-file: ${error.message}`)
    })
    const { auditWebhookBatchMaxSize: maxSize = 400, auditWebhookBatchMaxWait: maxWaitMs = 30_000 } = flags
    sinks.push(new AuditWebhook({ access, maxSize, maxWaitMs, clock, log }))
  }
  return new Auditor(policy, sinks, clock)
}

function inFlag<T>(flag: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new ConfigError(`${flag}: ${(error as Error).message}`)
  }
}

async function policyIn(file: string): Promise<Policy> {
  const { parseYaml } = await import('../../shared/config/yaml.ts')
  const document = inFlag('--audit-policy-file', () => parseYaml(readInputText(file)))
  const mistakes = policyMistakes(document)
  if (mistakes.length > 0) throw new ConfigError(`--audit-policy-file ${file}: ${mistakes.join('; ')}`)
  const { rules, omitStages = [], omitManagedFields = false } = document as Policy
  return { rules, omitStages, omitManagedFields }
}
