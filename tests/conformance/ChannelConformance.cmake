# Every channel × serializer, against healthy and against broken other ends. The channels
# are listed in ChannelsUnderTest.cpp.

set(Dir "${CMAKE_CURRENT_LIST_DIR}")
set(Shared
  ${Dir}/ChannelFixture.cpp
  ${Dir}/ChannelsUnderTest.cpp
  ${Dir}/HealthyChannelTest.cpp
  ${Dir}/ServedPeer.cpp)

# Both ends are threads of one process: what ThreadSanitizer can see.
cbridge_add_test(
  NAME channel_threads_test
  LABELS threads
  SOURCES ${Shared}
    ${Dir}/ChannelFaultsTest.cpp
    ${Dir}/PeerFaultsTest.cpp
    ${Dir}/ThreadedPeer.cpp)

