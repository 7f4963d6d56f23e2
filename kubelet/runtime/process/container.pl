# Becomes a container: takes the steps that its arguments spell out, in order; the last executes the program.
# Each step is a name, how many words belong to it, and those words. What fails is told, and ends it all with 128.
# Perl, since it is on nearly every Linux and asks the kernel itself: one program instead of ten.
use strict;

my (%number, %step);

sub ask {
  my ($call, @words) = @_;
  return syscall($number{$call}, @words) == 0;
}

sub directory {
  my ($path) = @_;
  return 1 if -d $path;
  directory($1) or return 0 if $path =~ m{^(.+)/[^/]+/*$};
  return mkdir($path, 0755) || -d $path;
}

%step = (
  calls => sub { %number = @_; 1 },
  namespaces => sub { ask('unshare', $_[0] + 0) },
  # Waits for the rest, to end as it does.
  fork => sub {
    my $child = fork;
    return defined $child unless $child;
    waitpid($child, 0);
    exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
  },
  mount => sub { my ($source, $target, $type, $flags, $data) = @_; ask('mount', $source, $target, $type, $flags + 0, $data) },
  mountIfPossible => sub { $step{mount}->(@_); 1 },
  directory => sub { directory($_[0]) },
  file => sub { $_[0] =~ m{^(.+)/} and directory($1) or return 0; -e $_[0] or open(my $file, '>>', $_[0]) },
  device => sub { my ($path, $mode, $device) = @_; ask('mknodat', -100, $path, $mode + 0, $device + 0) and chmod($mode & 0777, $path) },
  link => sub { symlink($_[0], $_[1]) },
  mode => sub { chmod($_[0] + 0, $_[1]) },
  hostname => sub { ask('sethostname', $_[0], length $_[0]) },
  root => sub { chroot($_[0]) },
  within => sub { chdir($_[0]) },
  environment => sub { %ENV = map { split(/=/, $_, 2) } @_; 1 },
  run => sub { exec { $_[0] } @_ },
);

while (@ARGV) {
  my ($name, $count) = splice(@ARGV, 0, 2);
  my @words = splice(@ARGV, 0, $count);
  $step{$name}->(@words) and next;
  print STDERR "kubestage: $name $words[0]", $name eq 'mount' ? " on $words[1]" : '', ": $!\n";
  exit 128;
}
