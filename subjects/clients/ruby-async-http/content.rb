# The received bytes of content.

class Content
  attr_reader :length

  # Keeps them if they will be checked, else only their number.
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

  # Whether it is a JSON list whose first document has the required number.
  def expected?
    JSON.parse(@text)[0]["numbers"] == 123_123
  rescue JSON::ParserError, NoMethodError, TypeError
    false
  end
end
