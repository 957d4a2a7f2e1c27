# Lets a Hydra take lines while it runs.

class Feed
  # How long, in milliseconds, a line may wait for a Hydra that listens to its connections.
  LONGEST_WAIT = 50

  # The block begins to fetch a line.
  def initialize(hydra, lines, slots, &start)
    @hydra = hydra
    @lines = lines
    @slots = slots
    @start = start
    @multi = hydra.multi.extend(Refilled)
    @multi.feed = self
  end

  # Hydra#run ends when nothing is under way: a line begins it anew.
  def run
    while (line = @lines.pop)
      @start.call(line)
      @hydra.run
    end
  end

  # Takes a line if there is one, and a slot. One each time round: many new ones would hold up the news of others.
  def refill
    @start.call(@lines.pop(true)) if @multi.easy_handles.size < @slots && !@lines.empty?
  end

  # For the multi of a Hydra: Hydra#run asks it, each time round, whether anything is under way, and how long to listen.
  module Refilled
    attr_writer :feed

    def ongoing?
      @feed.refill
      super
    end

    private

    def get_timeout
      [super, LONGEST_WAIT].min
    end
  end
end
