# A container that writes down its life: usage: perl life.pl FILE LINGER
# One line each: "start", "term" for each SIGTERM, and "end" LINGER seconds after the first.
use strict;
use Time::HiRes qw(time);
my ($file, $linger) = @ARGV;
sub note { open(my $out, '>>', $file) or die "$file: $!\n"; syswrite($out, "$_[0]\n") }
my $asked;
$SIG{TERM} = sub { note('term'); $asked ||= time };
note('start');
until ($asked && time - $asked >= $linger) { select(undef, undef, undef, 0.05) }
note('end');
