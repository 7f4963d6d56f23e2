# Becomes a container, or a command in one: takes the steps that its arguments spell out, in order; the last executes the program.
# Each step is a name, how many words belong to it, and those words. What fails is told, and ends it all with 128.
# Perl, since it is on nearly every Linux and asks the kernel itself: one program instead of ten. The shim takes the same steps in
# a fork of itself; by itself this file is run to try what the machine allows.
use strict;
(my $beside = __FILE__) =~ s{[^/]*$}{};
require "${beside}calls.pl";

# Numbers of the system calls that Perl has no name for, by name.
our %number;
# TIOCSCTTY and TIOCSWINSZ.
our ($CONTROLS, $WINDOW) = $^O eq 'darwin' ? (0x20007461, 0x80087467) : (0x540e, 0x5414);
# The process began in its control group.
our $is_placed;
my %step;
# NAME=VALUE, of the program.
my $variables;
my $pivoted;
# The first of the container's own users, as the machine counts them, and their namespace.
my ($first_user, $users);

# NET_BIND_SERVICE, which all processes of containers have: a container runtime opens ports below 1024 to every process of a pod's own
# network; on the machine's network they need this capability.
my $ports = 10;

sub directory {
  my ($path) = @_;
  return 1 if -d $path;
  directory($1) or return 0 if $path =~ m{^(.+)/[^/]+/*$};
  return mkdir($path, 0755) && owned($path) || -d $path;
}
# What is made for a container with users of its own belongs to its root.
sub owned { !defined $first_user || chown($first_user, $first_user, $_[0]) }

# Namespaces of a process, by their names under /proc/PID/ns. All are opened before any is entered: in another there is another /proc.
my %flag = (user => 0x10000000, cgroup => 0x02000000, ipc => 0x08000000, net => 0x40000000, pid => 0x20000000, uts => 0x04000000, mnt => 0x00020000);
sub join_namespaces {
  my ($pid, @names) = @_;
  my @entrances;
  for my $name (@names) {
    open(my $namespace, '<', "/proc/$pid/ns/$name") or return 0;
    push @entrances, [$namespace, $flag{$name}];
  }
  for my $entrance (@entrances) { ask('setns', fileno $entrance->[0], $entrance->[1]) or return 0 }
  return 1;
}

# What controls us no longer, a terminal can then.
sub own_session {
  return syscall($number{setsid}) if $number{setsid};
  require POSIX;
  POSIX::setsid();
}

sub set_size {
  my ($terminal, $columns, $rows) = @_;
  return ioctl($terminal, $WINDOW, pack('S4', $rows, $columns, 0, 0));
}

sub mount { my ($source, $target, $type, $flags, $data) = @_; ask('mount', $source, $target, $type, $flags + 0, $data) }
sub unmount { ask('umount2', $_[0], 2) }

# A namespace of users that are root and others in it, and ordinary users of the machine. It is a child's for a moment.
sub new_users {
  ($first_user, my $count) = @_;
  pipe(my $told, my $telling) && pipe(my $waiting, my $release) && defined(my $child = fork) or return 0;
  if (!$child) {
    close $release;
    my $number = readlink '/proc/self'; # as this /proc counts, which may be that of another PID namespace
    syswrite($telling, ask('unshare', $flag{user}) ? $number : '0');
    sysread($waiting, my $nothing, 1);
    kill 'KILL', $$;
  }
  close $telling;
  sysread($told, my $number, 20);
  my $is_good = $number && !grep { !write_file("/proc/$number/$_", "0 $first_user $count\n") } 'uid_map', 'gid_map';
  $is_good &&= open($users, '<', "/proc/$number/ns/user");
  my $problem = $!;
  close $release;
  waitpid($child, 0);
  $! = $problem;
  return $is_good;
}
# Mounts a folder or file so that it belongs to these users as it belongs to the machine's: a tree that is cloned
# (OPEN_TREE_CLONE, AT_RECURSIVE), changed (MOUNT_ATTR_IDMAP, AT_EMPTY_PATH), and put in its place (MOVE_MOUNT_F_EMPTY_PATH).
sub mount_idmapped {
  my ($source, $target) = @_;
  my $tree = syscall($number{open_tree}, -100, $source, 0x8001);
  return 0 if $tree < 0;
  open(my $handle, '<&=', $tree) or return 0;
  my $nothing = '';
  return ask('mount_setattr', $tree, $nothing, 0x9000, pack('Q4', 0x100000, 0, 0, fileno $users), 32)
    && ask('move_mount', $tree, $nothing, -100, $target, 4);
}
# Root of another namespace of users, which this process joins last: it has no rights outside of it. It owns its output.
sub become_root {
  my ($namespace, $first) = @_;
  for my $handle (\*STDIN, \*STDOUT, \*STDERR) { chown($first, -1, $handle) if -p $handle || -t $handle }
  return ask('setns', fileno $namespace, $flag{user}) && ask('setgroups', 0, 0) && ask('setresgid', 0, 0, 0) && ask('setresuid', 0, 0, 0);
}

# What is mounted there, with all that is mounted below: AT_RECURSIVE and MOUNT_ATTR_RDONLY; before Linux 5.12 itself alone.
sub read_only {
  my ($target) = @_;
  return ask('mount_setattr', -100, $target, 0x8000, pack('Q4', 1, 0, 0, 0), 32) || ask('mount', 'none', $target, '', 0x1021, '');
}

# As execvp(3), with variables that have not become Perl's own one by one: that takes as long as all mounts.
sub execute {
  my $given = pack('p*', @_, undef);
  my $environment = pack('p*', @$variables, undef);
  $SIG{FPE} = 'DEFAULT'; # which Perl ignores
  my ($path) = map { /^PATH=(.*)/s } @$variables;
  my @files = $_[0] =~ m{/} ? $_[0] : map { (length ? $_ : '.') . "/$_[0]" } split /:/, $path // '', -1;
  # ENOENT, unless one is there that may not be executed: EACCES. ENOTDIR is no file, either.
  my $problem = 2;
  for my $file (@files) {
    syscall($number{execve}, $file, $given, $environment);
    $problem = $! + 0 unless $! == 2 || $! == 20;
    last unless $! == 2 || $! == 13 || $! == 20;
  }
  $! = $problem;
  return 0;
}

%step = (
  calls => sub { %number = @_; 1 },
  # By the files that let it in. Before all others: each counts what the process does from then on.
  cgroup => sub { $is_placed || !grep { !write_file($_, '0') } @_ },
  # An ordinary user may only make it more likely that the process is ended.
  oomScore => sub { write_file('/proc/self/oom_score_adj', $_[0]); 1 },
  namespaces => sub { ask('unshare', $_[0] + 0) },
  # Waits for the rest, to end as it does.
  fork => sub {
    my $child = fork;
    return defined $child unless $child;
    # Close inherited descriptors so that no reader waits on this process.
    syscall($number{close_range}, 3, 0xffffffff, 0) if $number{close_range};
    open($_, '+<', '/dev/null') for \*STDIN, \*STDOUT, \*STDERR;
    # What is typed is for the program: on a terminal both are of one group.
    $SIG{$_} = 'IGNORE' for qw(INT QUIT TSTP);
    waitpid($child, 0);
    exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
  },
  # The namespaces of a process; with `root` also what it sees as the root of its files, with `users` also users of its own.
  enter => sub {
    my ($pid, @names) = @_;
    my ($root, $map, $namespace);
    opendir($root, "/proc/$pid/root") or return 0 if grep { $_ eq 'root' } @names;
    open($map, '<', "/proc/$pid/uid_map") && open($namespace, '<', "/proc/$pid/ns/user") or return 0 if grep { $_ eq 'users' } @names;
    join_namespaces($pid, grep { $flag{$_} } @names) or return 0;
    !$root || chdir($root) && chroot('.') or return 0;
    # Last: their root has no rights outside of them.
    return !$map || become_root($namespace, (split ' ', <$map>)[1] + 0);
  },
  # Users of the container's own, which are these of the machine; from now on what is made belongs to their root.
  users => sub { new_users($_[0] + 0, $_[1] + 0) },
  mountForUsers => \&mount_idmapped,
  own => sub { owned($_[0]) },
  becomeRoot => sub { become_root($users, $first_user) },
  # In a new namespace of users: the only one there is.
  identity => sub {
    my ($user, $outer_user, $group, $outer_group) = @_;
    return write_file('/proc/self/setgroups', 'deny') && write_file('/proc/self/uid_map', "$user $outer_user 1")
      && write_file('/proc/self/gid_map', "$group $outer_group 1");
  },
  mount => \&mount,
  readonly => \&read_only,
  readonlyIfPossible => sub { read_only(@_); 1 },
  mountIfPossible => sub { mount(@_); 1 },
  # At once; what still uses it keeps it.
  unmount => sub { unmount($_[0]) },
  unmountIfPossible => sub { unmount($_[0]); 1 },
  directory => sub { directory($_[0]) },
  file => sub { $_[0] =~ m{^(.*/)} and directory($1) or return 0; -e $_[0] or open(my $file, '>>', $_[0]) and owned($_[0]) },
  device => sub { my ($path, $mode, $device) = @_; ask('mknodat', -100, $path, $mode + 0, $device + 0) and chmod($mode & 0777, $path) },
  link => sub { symlink($_[0], $_[1]) },
  mode => sub { chmod($_[0] + 0, $_[1]) },
  hostname => sub { ask('sethostname', $_[0], length $_[0]) },
  sysctl => sub { my ($name, $value) = @_; write_file('/proc/sys/' . $name =~ tr{.}{/}r, $value) },
  # If the machine's own root cannot be unmounted (an initial RAM disk), the new root is placed in front of it.
  root => sub {
    chdir($_[0]) or return 0;
    return ask('umount2', '.', 2) && chdir('/') if ask('pivot_root', '.', '.');
    return chroot('.');
  },
  # Upon an image's files a layer that can be written to; a copy of them where the kernel refuses that.
  layer => sub {
    my ($image, $target, $options) = @_;
    return mount('overlay', $target, 'overlay', 0, $options) || system('cp', '-a', '--', "$image/.", $target) == 0;
  },
  # From now on paths are the container's. The machine's files are at hand by relative ones, until `leave`.
  pivot => sub {
    opendir(my $machine, '/') && chdir($_[0]) or return 0;
    $pivoted = ask('pivot_root', '.', '.');
    return ($pivoted || chroot('.')) && chdir($machine);
  },
  leave => sub { unmount('.') if $pivoted; chdir('/') },
  within => sub { chdir($_[0]) },
  # The terminal's first size.
  size => sub { set_size(\*STDIN, @_) },
  # All capabilities but these are lost with the next program: 24 is PR_CAPBSET_DROP.
  # Beyond the last one that the kernel knows there is none.
  capabilities => sub {
    my $call = $number{prctl};
    my @is_lost = (1) x 64;
    @is_lost[$ports, @_] = ();
    for (0 .. 63) { $is_lost[$_] && syscall($call, 24, $_, 0, 0, 0) && last }
    1;
  },
  # By a program of BPF, in hex: 22 is PR_SET_SECCOMP, 2 a filter, whose length and address are asked for.
  seccomp => sub { my $program = pack('H*', $_[1]); ask('prctl', 22, 2, pack('S x6 P', length($program) / 8, $program), 0, 0) },
  noNewPrivileges => sub { ask('prctl', 38, 1, 0, 0, 0) },
  # Another user, which keeps one capability. It owns its output, so that it can open it again.
  user => sub {
    my ($user, @groups) = map { $_ + 0 } @_;
    for my $handle (\*STDIN, \*STDOUT, \*STDERR) { chown($user, -1, $handle) if -p $handle || -t $handle }
    syscall($number{prctl}, 8, 1, 0, 0, 0); # PR_SET_KEEPCAPS: all capabilities outlive the change of user; one is left below
    ask('setgroups', scalar @groups, pack('L*', @groups)) && ask('setresgid', ($groups[0]) x 3)
      && ask('setresuid', ($user) x 3) or return 0;
    if ($user != 0) {
      ask('capset', pack('L2', 0x20080522, 0), pack('L6', (1 << $ports) x 3, 0, 0, 0)) or return 0;
      syscall($number{prctl}, 47, 2, $ports, 0, 0);
    }
    # Forgotten with the change.
    syscall($number{prctl}, 1, 9, 0, 0, 0);
    return 1;
  },
  environment => sub { $variables = [@_]; $number{execve} or %ENV = map { split(/=/, $_, 2) } @_; 1 },
  # Process 1 of a pod: does nothing but bury what others leave.
  pause => sub { $0 = '/pause'; $SIG{CHLD} = 'IGNORE'; sleep while 1 },
  run => sub { $variables && $number{execve} ? execute(@_) : exec { $_[0] } @_ },
);

# Undefined when all is done; otherwise what went wrong.
sub take_steps {
  while (@_) {
    my ($name, $count) = splice(@_, 0, 2);
    my @words = splice(@_, 0, $count);
    $step{$name}->(@words) and next;
    my $why = lc $!;
    return qq(exec: "$words[0]": $why) if $name eq 'run';
    return "error during container init: $name $words[0]" . ($name =~ /^mount/ ? " on $words[1]" : '') . ": $why";
  }
  return undef;
}

unless (caller) {
  my $problem = take_steps(@ARGV);
  print STDERR "kubestage: $problem\n" if defined $problem;
  exit(defined $problem ? 128 : 0);
}
1;
