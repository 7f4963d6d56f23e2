/** Numbers of the system calls that Perl has no name for, by processor. */
const calls: Partial<Record<NodeJS.Architecture, Record<string, number>>> = {
  x64: {
    capset: 126,
    clock_gettime: 228,
    clone: 56,
    clone3: 435,
    close_range: 436,
    epoll_create1: 291,
    epoll_ctl: 233,
    epoll_pwait: 281,
    execve: 59,
    mknodat: 259,
    mount: 165,
    mount_setattr: 442,
    move_mount: 429,
    open_tree: 428,
    pivot_root: 155,
    prctl: 157,
    rt_sigprocmask: 14,
    sendmsg: 46,
    sethostname: 170,
    setgroups: 116,
    setns: 308,
    setresgid: 119,
    setresuid: 117,
    setsid: 112,
    signalfd4: 289,
    umount2: 166,
    unshare: 272,
  },
  arm64: {
    capset: 91,
    clock_gettime: 113,
    clone: 220,
    clone3: 435,
    close_range: 436,
    epoll_create1: 20,
    epoll_ctl: 21,
    epoll_pwait: 22,
    execve: 221,
    mknodat: 33,
    mount: 40,
    mount_setattr: 442,
    move_mount: 429,
    open_tree: 428,
    pivot_root: 41,
    prctl: 167,
    rt_sigprocmask: 135,
    sendmsg: 211,
    sethostname: 161,
    setgroups: 159,
    setns: 268,
    setresgid: 149,
    setresuid: 147,
    setsid: 157,
    signalfd4: 74,
    umount2: 39,
    unshare: 97,
  },
}

const known: Record<string, number> = (process.platform === 'linux' && calls[process.arch]) || {}
const words = Object.entries(known).flatMap(([name, number]) => [name, String(number)])

/**
 * By name and number in turns, as the shim and `container.pl` take them. Empty where we know none: then there are no
 * namespaces.
 */
export const systemCalls = (): readonly string[] => words

/** Returns the number of a call; undefined on a processor or system whose numbers are not known. */
export const systemCall = (name: string): number | undefined => known[name]
