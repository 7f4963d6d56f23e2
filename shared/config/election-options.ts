import { type OptionType, option, type Values } from './option.ts'
import { duration, flag, subdomain } from './option-types.ts'

/** The type of an option that the program decides if it has no value. */
const perhaps: OptionType<boolean | undefined> = {
  ...flag,
  show: (value) => (value === undefined ? undefined : String(value)),
}

/** Defines the options of leader election, with kube-controller-manager's names and defaults. */
export const electionOptions = {
  leaderElect: option(perhaps, {
    default: undefined,
    help: 'Run control loops and scheduler only while this process holds their Leases (default: with etcd)',
  }),
  leaderElectLeaseDuration: option(duration, {
    default: 15_000,
    help: 'How long others wait for a leader that does not renew its Lease',
  }),
  leaderElectRenewDeadline: option(duration, {
    default: 10_000,
    help: 'How long a leader tries to renew its Lease before it stops its loops',
  }),
  leaderElectRetryPeriod: option(duration, { default: 2_000, help: 'Time between two tries to get or renew a Lease' }),
  leaderElectResourceName: option(subdomain, {
    default: 'kube-controller-manager',
    help: "Name of the control loops' Lease; the scheduler's is kube-scheduler",
  }),
  leaderElectResourceNamespace: option(subdomain, { default: 'kube-system', help: 'Namespace of both Leases' }),
}

/** Holds the values of a program's options of leader election. */
export type ElectionFlags = Values<typeof electionOptions>
