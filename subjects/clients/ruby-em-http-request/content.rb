# The bytes of content that came.

class Content
  attr_reader :length

  # Keeps them when they are to be checked, else their number only.
  def initialize(kept:)
    @length = 0
    @text = kept ? "".b : nil
  end

  def <<(piece)
    @length += piece.bytesize
    @text << piece if @text
    self
  end

  # The code and the length of a row.
  def judged(status)
    [@text.nil? || expected? ? status : "CheckFailed", @length]
  end

  private

  # Whether it is a JSON list whose first document has the number that is looked for.
  def expected?
    JSON.parse(@text)[0]["numbers"] == 123_123
  rescue JSON::ParserError, NoMethodError, TypeError
    false
  end
end
