# Runs a command as an ordinary user who has 65,536 users more in a namespace of them, and is its root. It is what
# `unshare --map-root-user --map-auto --mount --pid --fork --mount-proc` makes where /etc/subuid gives nobody these users.
# To be run as root.
use strict;
my $nobody = 65534;
$^F = 255;
setpgrp;
pipe(my $waiting, my $release) or die $!;
defined(my $pid = fork) or die $!;
if (!$pid) {
  close $release;
  my $within = 'read -r go <&' . fileno($waiting) . '; exec unshare --mount --pid --fork --kill-child --mount-proc "$@"';
  exec 'setpriv', "--reuid=$nobody", "--regid=$nobody", '--clear-groups', qw(unshare --user sh -c), $within, 'sh', @ARGV;
}
close $waiting;
my $own = readlink '/proc/self/ns/user';
select(undef, undef, undef, 0.01) while (readlink("/proc/$pid/ns/user") // exit 1) eq $own;
for my $map ('uid_map', 'gid_map') {
  open(my $file, '>', "/proc/$pid/$map") or die "$map: $!";
  syswrite($file, "0 $nobody 1\n1 200000 65536\n") or die "$map: $!";
}
syswrite($release, "go\n");
# unshare itself lets nothing end it: the whole group gets the signal.
$SIG{TERM} = sub { local $SIG{TERM} = 'IGNORE'; kill 'TERM', -$$ };
1 while waitpid($pid, 0) == -1 && $!{EINTR};
exit($? >> 8);
