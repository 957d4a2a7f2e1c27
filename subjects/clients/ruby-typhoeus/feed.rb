# Makes a Hydra take lines while it runs.

class Feed
  # How long, in milliseconds, a line may wait while a Hydra waits for its connections.
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

  # Hydra#run ends when no transfer is active: a line starts it again.
  def run
    while (line = @lines.pop)
      @start.call(line)
      @hydra.run
    end
  end

  # Takes a line if there is one, and a slot. One in each iteration: many new ones would delay events of the others.
  def refill
    @start.call(@lines.pop(true)) if @multi.easy_handles.size < @slots && !@lines.empty?
  end

  # For the multi of a Hydra: in each iteration Hydra#run calls it for the number of active transfers and the time to
  # wait.
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
