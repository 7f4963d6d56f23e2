# usage: perl on-terminal.pl PROGRAM WORD…
# Runs a program on a terminal of Linux. What comes in is typed and what it shows goes out; a line COLUMNS ROWS on descriptor 3 is the
# next size of the terminal. Ends with the program's code.
use strict;
use Fcntl;

sub terminal_of {
  my ($free, $number) = (pack('i', 0), pack('i', 0));
  sysopen(my $ours, '/dev/ptmx', O_RDWR | O_NOCTTY) or die "/dev/ptmx: $!\n";
  ioctl($ours, 0x40045431, $free) && ioctl($ours, 0x80045430, $number) or die "/dev/ptmx: $!\n";
  sysopen(my $theirs, '/dev/pts/' . unpack('i', $number), O_RDWR | O_NOCTTY) or die "/dev/pts: $!\n";
  return ($ours, $theirs);
}
sub resize {
  my ($terminal, $columns, $rows) = @_;
  ioctl($terminal, 0x5414, pack("S4", $rows, $columns, 0, 0));
}

my ($ours, $theirs) = terminal_of();
open(my $sizes, '<&=', 3) or die "sizes: $!\n";
resize($ours, split(/ /, scalar <$sizes>));
my $child = fork // die "fork: $!\n";
if (!$child) {
  require POSIX;
  POSIX::setsid();
  ioctl($theirs, 0x540e, 0) or die "controlling terminal: $!\n";
  POSIX::dup2(fileno $theirs, $_) for 0 .. 2;
  close $_ for $ours, $theirs, $sizes;
  exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\n";
}
close $theirs;
$| = 1;
my @sources = (\*STDIN, $ours, $sizes);
while (1) {
  my $bits = '';
  vec($bits, fileno $_, 1) = 1 for @sources;
  select($bits, undef, undef, undef) > 0 or next;
  my @ready = grep { vec($bits, fileno $_, 1) } @sources;
  for my $source (@ready) {
    my $got = sysread($source, my $data, 4096);
    if (!$got) { @sources = grep { $_ != $source } @sources }
    elsif ($source == $ours) { syswrite(STDOUT, $data) }
    elsif ($source == $sizes) { resize($ours, split(/ /, $data)) }
    else { syswrite($ours, $data) }
  }
  last unless grep { $_ == $ours } @sources;
}
waitpid($child, 0);
exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
