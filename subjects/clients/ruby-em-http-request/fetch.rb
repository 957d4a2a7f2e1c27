# One URL: from its first request to its last answer.

require "json"
require "openssl"
require "time"

require_relative "cause"
require_relative "connection"
require_relative "content"

class Fetch
  URL = %r{\Ahttps?://[^\s/?#]\S*\z}i
  REDIRECTS = [301, 302, 303, 307, 308].freeze
  MAX_REDIRECTS = 10

  # Begins at once; the block receives the code and the length of the row.
  def initialize(url, settings, &done)
    @settings = settings
    @done = done
    @redirects = 0
    return end_with("InvalidURL") unless URL.match?(url)

    # em-http-request's own timeouts are for connecting and for silence.
    @timer = EventMachine.add_timer(settings.request_timeout) { give_up }
    look_up(Addressable::URI.parse(url))
  rescue Addressable::URI::InvalidURIError => e
    end_with(cause_name(e))
  end

  private

  def give_up
    end_with("TimeoutError")
    @connection&.close("timeout")
  end

  # EventMachine would look the name up in the reactor's thread, and block every other URL.
  def look_up(uri)
    operation = -> { Addrinfo.tcp(uri.hostname, uri.inferred_port).ip_address }
    callback = ->(address) { request(uri, address) unless @ended }
    errback = ->(error) { end_with(cause_name(error)) }
    EventMachine.defer(operation, callback, errback)
  end

  # Redirects by hand: em-http-request sends them all to the first host.
  def request(uri, address)
    @connection = EventMachine::HttpRequest.new(uri, connection_options)
    @connection.connopts.host = address
    @content = Content.new(kept: @settings.check_json)
    client = @connection.get(head: headers)
    client.stream { |piece| @content << piece }
    client.callback { answered(uri, client.response_header) }
    client.errback { end_with(cause_name(client.error)) }
  end

  def connection_options
    limit = @settings.request_timeout
    { connect_timeout: limit, inactivity_timeout: limit, tls: { verify_peer: true } }
  end

  def headers
    headers = { "accept-encoding" => "gzip, deflate" }
    headers["user-agent"] = @settings.user_agent unless @settings.user_agent.empty?
    headers
  end

  def answered(uri, head)
    return if @ended

    return end_with(*@content.judged(head.status)) unless REDIRECTS.include?(head.status) && head.location
    return end_with("TooManyRedirects") if @redirects == MAX_REDIRECTS

    @redirects += 1
    look_up(uri.join(head.location))
  rescue Addressable::URI::InvalidURIError => e
    end_with(cause_name(e))
  end

  def end_with(code, body_length = 0)
    return if @ended

    @ended = true
    EventMachine.cancel_timer(@timer) if @timer
    @done.call(code, body_length)
  end
end
