import { randomUUID } from 'node:crypto'
import { closeSync, fchmodSync, openSync } from 'node:fs'
import path from 'node:path'
import type { Container, Pod } from '../../shared/api/types.ts'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import { among, Expander, TooLongError } from '../pod/expansion.ts'
import { podDir, podLogDir } from '../pod/folders.ts'
import type { ContainerConfig, Mount, ResolvedImage, SeccompChoice, WantedUser } from '../runtime/container-runtime.ts'
import { wordsToRun } from '../runtime/images/entrypoint.ts'
import { ANNOTATIONS } from '../runtime/recorded-container.ts'
import { processRights } from './process-rights.ts'
import { containerLimits, oomScoreAdjustment } from './resource-limits.ts'

export interface ContainerConfigInput {
  pod: Pod
  container: Container
  sandboxId: string
  attempt: number
  image: ResolvedImage
  env: Record<string, string> | TooLongError
  rootDir: string
  mounts: Mount[]
  user?: WantedUser
  /** Where its last words are to be found, see {@link newMessageFile}; empty where it can leave none. */
  messageFile: string
  featureGates: FeatureGates
  seccomp?: SeccompChoice
  /** Holds what the node keeps for it. */
  resources: NonNullable<Container['resources']>
  machineBytes: number
}

export function containerConfig(input: ContainerConfigInput): ContainerConfig {
  const { pod, container, image, attempt, messageFile } = input
  const own = input.env instanceof TooLongError ? {} : input.env
  // Variables of the image are not expanded in commands. Upstream: kuberuntime, generateContainerConfig.
  const words = expandedWords(container, own)
  const tooLong = [input.env, words].find((given) => given instanceof TooLongError)
  const stopSignal = (input.featureGates.ContainerStopSignals && container.lifecycle?.stopSignal) || image.stopSignal
  return {
    sandboxId: input.sandboxId,
    name: container.name,
    attempt,
    image: container.image ?? '',
    imageId: image.id,
    command: wordsToRun(image, words instanceof TooLongError ? container : words),
    env: { ...image.env, ...own },
    ...(tooLong && { tooLong: tooLong.message }),
    path: image.path,
    workingDir: container.workingDir || image.workingDir,
    logPath: logPath(input.rootDir, pod, container.name, attempt),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    ...(container.securityContext?.readOnlyRootFilesystem && { readonlyRoot: true }),
    rights: processRights(container),
    ...(image.root && { root: image.root }),
    ...(input.user && { user: input.user }),
    ...(input.seccomp && { seccomp: input.seccomp }),
    limits: containerLimits(input.resources),
    oomScore: oomScoreAdjustment(pod, container, input.machineBytes),
    ...(targetOf(pod, container) && { target: targetOf(pod, container) }),
    mounts: [
      ...input.mounts,
      {
        containerPath: container.terminationMessagePath ?? '/dev/termination-log',
        hostPath: messageFile,
        readonly: false,
      },
    ],
    annotations: {
      ...annotationsOf(pod, container),
      [ANNOTATIONS.messageFile]: messageFile,
      ...(stopSignal && { [ANNOTATIONS.stopSignal]: stopSignal }),
    },
  }
}

function expandedWords(
  { command = [], args = [] }: Container,
  env: Record<string, string>,
): { command: string[]; args: string[] } | TooLongError {
  const expander = new Expander()
  const expanded = (words: string[]): string[] => words.map((word) => expander.expand(word, among(env)))
  try {
    return { command: expanded(command), args: expanded(args) }
  } catch (error) {
    if (error instanceof TooLongError) return error
    throw error
  }
}

const targetOf = ({ spec }: Pod, { name }: Container): string | undefined =>
  spec.ephemeralContainers?.find((container) => container.name === name)?.targetContainerName

function annotationsOf(pod: Pod, container: Container): Record<string, string> {
  const { lifecycle, ports, terminationMessagePath, terminationMessagePolicy } = container
  return {
    ...(lifecycle?.preStop && { [ANNOTATIONS.preStop]: JSON.stringify(lifecycle.preStop) }),
    ...(ports && { [ANNOTATIONS.ports]: JSON.stringify(ports) }),
    ...(terminationMessagePath && { [ANNOTATIONS.terminationMessagePath]: terminationMessagePath }),
    ...(terminationMessagePolicy && { [ANNOTATIONS.terminationMessagePolicy]: terminationMessagePolicy }),
    [ANNOTATIONS.grace]: String(pod.spec.terminationGracePeriodSeconds ?? 30),
  }
}

const logPath = (rootDir: string, pod: Pod, container: string, attempt: number): string =>
  path.join(podLogDir(rootDir, pod), container, `${attempt}.log`)
/** A new file for each instance, in the pod's folder, which is there; the runtime shows it to the container. */
export function newMessageFile(rootDir: string, { metadata }: Pod, container: string): string {
  const file = path.join(podDir(rootDir, metadata.uid ?? ''), `${container}.${randomUUID().slice(0, 8)}.message`)
  const descriptor = openSync(file, 'w')
  fchmodSync(descriptor, 0o666) // whatever our own umask is
  closeSync(descriptor)
  return file
}
