import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { NamedPlugin } from '../apiserver/http/plugins/plugin.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { createMovableClock, type MovableClock } from '../shared/clock/movable-clock.ts'
import { scaledClock } from '../shared/clock/scaled-clock.ts'
import { endpointHosts } from '../shared/config/endpoint-option.ts'
import { createLog, type Logger } from '../shared/log/log.ts'
import { type ClusterPki, ensureClusterPki } from '../shared/pki/cluster-pki.ts'
import { firstAddress } from './addresses.ts'
import type { Guardian } from './guardian.ts'
import type { ClusterSettings } from './settings.ts'
import type { StateDirectory } from './state-directory.ts'

export interface ClusterOptions {
  settings: ClusterSettings
  /** The machine's; the cluster's own may run faster. */
  clock: Clock
  /** The cluster's own time, which begins at `originMs`. Default: the machine's, scaled as the settings say. */
  clusterClock?(originMs: number): MovableClock
  /** Starts an API server without control loops; by default the settings decide. */
  controllers?: false
  /** Lists the plugins of users. */
  plugins?: readonly NamedPlugin[]
  /** Simulated nodes have an HTTPS API as real ones have. */
  simulatedApi?: boolean
  /** Simulated pods report each step. */
  simulatedSteps?: boolean
  /** If this process ends without being asked to, pods are killed at once. Default: they end in order. */
  killsPods?: boolean
  /** Holds the guardian of a server that is started again when it ends. */
  guardian?: Guardian
  /** Sets the port at which the first of several servers alone answers. Default: one that is free. */
  ownPort?: number
  /** Receives one line about each unexpected event, and what is done about it. */
  onTrouble(line: string): void
  /** `kubeletPids`, `etcdPid` or `otherServers` are others than before. */
  onKubelet?(): void
}

/** Holds what the servers and nodes of a cluster share. */
export interface ClusterContext extends Omit<ClusterOptions, 'clusterClock'> {
  state: StateDirectory
  pki: ClusterPki
  clusterClock: MovableClock
  /** Time at which the cluster's own clock begins. */
  timeOriginMs: number
  log: Logger
}

/** Makes certificates, the log and the cluster's clock in an open state directory. */
export function contextOf(options: ClusterOptions, state: StateDirectory): ClusterContext {
  const { settings, clock, guardian } = options
  mkdirSync(state.logs, { recursive: true, mode: 0o700 })
  const timeOriginMs = Math.floor(clock.now() / 1000) * 1000
  const log = createLog({ file: join(state.logs, 'apiserver.log'), level: settings.logLevel, component: 'apiserver' })
  if (guardian && guardian.restarts > 0)
    log.warn({ ending: guardian.ending, restarts: guardian.restarts }, 'the API server before this one ended by itself')
  return {
    ...options,
    state,
    pki: pkiOf(settings, { state, nowMs: clock.now() }),
    clusterClock: options.clusterClock?.(timeOriginMs) ?? scaled(clock, settings.timeScale, timeOriginMs),
    timeOriginMs,
    log,
  }
}

const pkiOf = (
  { host, serviceCidr, nodeName, tlsSan, controlPlaneEndpoint }: ClusterSettings,
  { state, nowMs }: { state: StateDirectory; nowMs: number },
): ClusterPki =>
  ensureClusterPki({
    directory: state.pki,
    nowMs,
    host,
    serviceAddress: firstAddress(serviceCidr),
    nodeName,
    altNames: [...tlsSan, ...endpointHosts(controlPlaneEndpoint)],
  })

const scaled = (clock: Clock, scale: number, originMs: number): MovableClock =>
  createMovableClock(scaledClock(clock, { scale, originMs }))
