/** A profile of system calls, as the OCI's runtime specification has it (LinuxSeccomp). */
export interface SeccompProfile {
  defaultAction: string
  defaultErrnoRet?: number
  /** Rules; the first that fits counts. */
  syscalls?: SeccompRule[]
}
export interface SeccompRule {
  names: string[]
  action: string
  errnoRet?: number
  /** All of them must hold. */
  args?: SeccompCondition[]
}
export interface SeccompCondition {
  /** Counts the arguments of the call from 0. */
  index: number
  value: number
  /** Holds the value to compare with, where `value` is the mask. */
  valueTwo?: number
  op: string
}

const noSuchCall = 38

/** Calls that are refused unless the container has one of these capabilities. */
const guarded: readonly (readonly [capabilities: string, calls: string])[] = [
  ['', 'add_key keyctl request_key userfaultfd io_uring_setup io_uring_enter io_uring_register kexec_load'],
  ['', 'kexec_file_load nfsservctl pivot_root swapon swapoff _sysctl sysfs uselib ustat vserver move_pages'],
  ['SYS_ADMIN BPF', 'bpf'],
  ['SYS_ADMIN PERFMON', 'perf_event_open'],
  ['SYS_ADMIN SYSLOG', 'syslog'],
  ['SYS_ADMIN', 'fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount mount_setattr move_mount open_tree'],
  ['SYS_ADMIN', 'quotactl quotactl_fd setdomainname sethostname setns umount umount2 unshare'],
  ['SYS_BOOT', 'reboot'],
  ['SYS_CHROOT', 'chroot'],
  ['SYS_MODULE', 'create_module delete_module init_module finit_module get_kernel_syms query_module'],
  ['SYS_PACCT', 'acct'],
  ['SYS_PTRACE', 'kcmp pidfd_getfd process_madvise'],
  ['SYS_RAWIO', 'iopl ioperm'],
  ['SYS_TIME', 'settimeofday stime clock_settime clock_settime64 clock_adjtime adjtimex'],
  ['SYS_TTY_CONFIG', 'vhangup'],
  ['SYS_NICE', 'get_mempolicy mbind set_mempolicy set_mempolicy_home_node'],
  ['DAC_READ_SEARCH', 'open_by_handle_at'],
]

const newNamespaces = 0x7e020000
const personalities = [0, 0x8, 0x20000, 0x20008, 0xffffffff]
const vsock = 40

/**
 * Returns the profile of `RuntimeDefault`: it refuses what containerd's profile refuses, and allows the rest; containerd
 * lists what it allows. Upstream: containerd, contrib/seccomp.
 */
export function defaultProfile(capabilities: readonly string[]): SeccompProfile {
  const has = (names: string): boolean => names.split(' ').some((name) => capabilities.includes(name))
  const refuse = (names: string[], more: Partial<SeccompRule> = {}): SeccompRule => ({
    names,
    action: 'SCMP_ACT_ERRNO',
    ...more,
  })
  const allow = (name: string, condition: Omit<SeccompCondition, 'index'>): SeccompRule => ({
    names: [name],
    action: 'SCMP_ACT_ALLOW',
    args: [{ index: 0, ...condition }],
  })
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    syscalls: [
      ...guarded.filter(([names]) => !has(names)).map(([, calls]) => refuse(calls.split(' '))),
      // Programs fall back to clone, whose flags can be seen here.
      ...(has('SYS_ADMIN')
        ? []
        : [
            allow('clone', { op: 'SCMP_CMP_MASKED_EQ', value: newNamespaces, valueTwo: 0 }),
            refuse(['clone']),
            refuse(['clone3'], { errnoRet: noSuchCall }),
          ]),
      ...personalities.map((value) => allow('personality', { op: 'SCMP_CMP_EQ', value })),
      refuse(['personality']),
      refuse(['socket'], { args: [{ index: 0, op: 'SCMP_CMP_EQ', value: vsock }] }),
    ],
  }
}

/** Reads a profile of a file. Throws an Error that says what is wrong. */
export function readProfile(text: string): SeccompProfile {
  const profile = JSON.parse(text) as SeccompProfile
  if (typeof profile?.defaultAction !== 'string') throw new Error('it has no defaultAction')
  if (!Array.isArray(profile.syscalls ?? [])) throw new Error('its syscalls are no list')
  for (const rule of profile.syscalls ?? [])
    if (!Array.isArray(rule?.names) || typeof rule.action !== 'string')
      throw new Error('a rule needs names and an action')
  return profile
}
