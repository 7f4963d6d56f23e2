import type { Container } from '../types.ts'

/** A port of the node that a pod wants for itself. */
export interface HostPort {
  ip: string
  protocol: string
  port: number
  /** The port of the pod to which it leads. */
  containerPort: number
}

export const ANY_IP = '0.0.0.0'

export const hostPortsOf = ({ spec }: { spec: { containers: Pick<Container, 'ports'>[] } }): HostPort[] =>
  spec.containers
    .flatMap(({ ports = [] }) => ports)
    .filter(({ hostPort }) => hostPort)
    .map(({ hostPort = 0, hostIP, protocol = 'TCP', containerPort }) => ({
      ip: hostIP || ANY_IP,
      protocol,
      port: hostPort,
      containerPort,
    }))

export const collide = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === ANY_IP || b.ip === ANY_IP)
